import { leaveNothing } from './leave-nothing.ts'
import { TEST_TIMEOUT_MS, waitPatiently } from './patience.ts'

// Vitest runs this before each test file, in its process.
await leaveNothing()
waitPatiently(process.env.TEST_LONG === undefined ? TEST_TIMEOUT_MS : 10 * TEST_TIMEOUT_MS)
