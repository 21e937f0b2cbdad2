import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { signAlert } from '../../src/alerts/send-alert.ts'

const page = readFileSync('docs/alerts.md', 'utf8')

/** The block of the page in this language. */
function blockOf(language: string): string {
  const [, block] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? []
  if (block === undefined) throw new Error(`docs/alerts.md has no block of ${language}`)
  return block
}

type Check = (secret: string, header: string, body: Buffer, nowSeconds: number) => Promise<boolean> | boolean

const inNode: Check = async (...args) => {
  const source = `data:text/javascript,${encodeURIComponent(blockOf('js'))}`
  const { isFromTallygate }: { isFromTallygate: Check } = await import(/* @vite-ignore */ source)
  return await isFromTallygate(...args)
}

const inPython: Check = (secret, header, body, nowSeconds) => {
  const call =
    'import base64, sys\na = sys.argv\nprint(is_from_tallygate(a[1], a[2], base64.b64decode(a[3]), float(a[4])))'
  const args = [secret, header, body.toString('base64'), `${nowSeconds}`]
  return (
    execFileSync('python3', ['-c', `${blockOf('python')}\n${call}`, ...args], { encoding: 'utf8' }).trim() ===
    'True'
  )
}

const hasPython = (() => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

const SECRET = 'd4oVtzq3bWJYyF1mU6sLkZ0nXeR8hGcPaT2iKwB5vQx'
const BODY = '{"type":"budget","message":"acme · 80 %"}'
const AT_SECONDS = 1_790_000_000

test.each([
  ['Node', inNode],
  // Servers and tests need nothing but Node: where there is no Python, its block is not run.
  ...(hasPython ? [['Python', inPython] as const] : []),
] as const)('the documented check in %s takes what we sign, and nothing else', async (_, check) => {
  const header = signAlert(SECRET, BODY, AT_SECONDS * 1000)
  const body = Buffer.from(BODY)
  const other = signAlert(`${SECRET.slice(0, -1)}y`, BODY, AT_SECONDS * 1000)
  const results = [
    await check(SECRET, header, body, AT_SECONDS),
    await check(SECRET, header, body, AT_SECONDS + 299),
    // Too old, and from a clock that is too far ahead.
    await check(SECRET, header, body, AT_SECONDS + 301),
    await check(SECRET, header, body, AT_SECONDS - 301),
    // Another secret, another body, another time, and texts that are not signatures.
    await check(SECRET, other, body, AT_SECONDS),
    await check(SECRET, header, Buffer.from(`${BODY} `), AT_SECONDS),
    await check(SECRET, header.replace(/^t=\d+/, `t=${AT_SECONDS + 1}`), body, AT_SECONDS),
    await check(SECRET, header.slice(0, -1), body, AT_SECONDS),
    await check(SECRET, '', body, AT_SECONDS),
  ]
  expect(results).toEqual([true, true, false, false, false, false, false, false, false])
})

test('the documented example has the fields of an alert of a budget, in their order', () => {
  const common = ['id', 'type', 'created_at', 'client', 'message']
  const ofBudget = ['limit', 'threshold', 'spent_usd', 'limit_usd', 'period_from', 'period_to']
  expect(Object.keys(JSON.parse(blockOf('json')))).toEqual([...common, ...ofBudget])
})
