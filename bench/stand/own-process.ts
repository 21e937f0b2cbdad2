export * from '../../src/standalone/stand/own-process.ts'
