export * from '../../src/standalone/stand/child.ts'
