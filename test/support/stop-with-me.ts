export * from '../../src/standalone/stand/stop-with-me.ts'
