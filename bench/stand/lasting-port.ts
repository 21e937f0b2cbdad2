export * from '../../src/standalone/stand/lasting-port.ts'
