export * from '../../src/standalone/stand/child-processes.ts'
