import { deepEqual, equal, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { untilPatiently } from '../support/patience.ts'
import type { ComposeStack } from './stack.ts'
import { makeCalls, type Traffic } from './traffic.ts'

const run = promisify(execFile)
const PAGE = 'docs/operations.md'
const MOST_COMMANDS = 5
const CALLS = 40

/** The first block of commands behind a line of the documentation. */
export async function pasted(behind: string): Promise<readonly string[]> {
  const page = await readFile(PAGE, 'utf8')
  const at = page.indexOf(behind)
  ok(at >= 0, `${PAGE} says: ${behind}`)
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(page.slice(at)) ?? []
  return block.trimEnd().split('\n')
}

/** Backup, destruction and restore by the commands of the documentation, as they are printed there. */
export async function checkRestore(stack: ComposeStack, baseUrl: string): Promise<void> {
  const { tallygate, compose, env } = stack
  await tallygate('client', 'create', 'restored')
  const { key } = await tallygate('key', 'create', '--client', 'restored')
  const traffic: Traffic = { sent: 0, answered: new Set(), failures: [] }
  await makeCalls({ baseUrl, key, calls: CALLS, atOnce: 4, everyMs: 10 }, traffic)
  deepEqual(traffic.failures, [])
  const usage = async () => {
    const answer = await fetch(`${baseUrl}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })
    const { requests, cost_usd } = Object(await answer.json())
    return { status: answer.status, requests, cost_usd }
  }
  ok(
    await untilPatiently(async () => ((await usage()).requests === CALLS ? true : null), {
      timeoutMs: 30_000,
    }),
  )
  const before = await usage()

  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-restore-'))
  const paste = async (lines: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const script = `set -euo pipefail\ncd "$OLDPWD_OF_TEST"\n${lines.join('\n')}`
    const shown = script.replaceAll('tallygate.backup', join(folder, 'tallygate.backup'))
    return await run('bash', ['-c', shown], {
      env: { ...env, ...more, OLDPWD_OF_TEST: process.cwd() },
      maxBuffer: 64 * 1024 * 1024,
    })
  }
  try {
    const backup = (await pasted('Run this every night:')).filter((line) => line.includes('docker compose'))
    equal(backup.length, 1)
    await paste(backup)
    ok((await stat(join(folder, 'tallygate.backup'))).size > 0)
    const { KEY_PEPPER: pepper } = await tallygate('secrets', 'show', 'KEY_PEPPER')
    await compose('down', '--volumes', '--timeout', '60')

    const restore = await pasted('Compose, on a new host')
    ok(restore.length <= MOST_COMMANDS, `${restore.length} commands`)
    const { stdout } = await paste(restore, { KEY_PEPPER: pepper })
    deepEqual(await usage(), before, 'the restored ledger has the same sums')
    console.log(
      `restored after the loss of all volumes by ${restore.length} commands of ${PAGE}: ${stdout.trim().split('\n').at(-1)}`,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
