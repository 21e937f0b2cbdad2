import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { run } from './command-line.ts'

const script = async (shell: string) => (await run({}, 'completion', shell)).out

/** What bash offers behind a line. */
async function offered(line: string): Promise<readonly string[]> {
  const words = line.split(' ').map((word) => `'${word}'`)
  const program = `${await script('bash')}
COMP_WORDS=(${words.join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _tallygate tallygate "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

describe('bash', () => {
  test.each([
    ['tallygate cli', ['client']],
    ['tallygate client re', ['rename']],
    ['tallygate client --json re', ['rename']],
    ['tallygate limits set --b', ['--budget', '--by']],
    ['tallygate usage export --format c', ['csv', 'cloudevents']],
    ['tallygate completion --', ['--json', '--help']],
  ])('%s: %j', async (line, words) => {
    expect(await offered(line)).toEqual(words)
  })
})

test('every shell has every command that the program has', async () => {
  const help = (await run({}, '--help')).out
  const names = [...(help.split(/^Commands:$/m)[1] ?? '').matchAll(/^ {2}([a-z][a-z-]*)\b/gm)].map(
    ([, name = '']) => name,
  )
  expect(names.length).toBeGreaterThan(20)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const text = await script(shell)
    expect(names.filter((name) => name !== 'help' && !new RegExp(`['| ]${name}['| ]`).test(text))).toEqual([])
    expect(spawnSync('bash', ['-n'], { input: shell === 'fish' ? '' : text }).status).toBe(0)
  }
})

test('a shell that it does not know is refused, as JSON too', async () => {
  const { code, out, err } = await run({}, 'completion', 'tcsh', '--json')
  expect([code, out]).toEqual([2, ''])
  expect(JSON.parse(err)).toEqual({
    error: { code: 'invalid_request', message: expect.stringContaining('bash, zsh, fish') },
  })
})

test('with --json a failure is one document on stderr, with a code', async () => {
  const { code, out, err } = await run({ TALLYGATE_DATA_DIR: '/nowhere' }, 'client', 'list', '--json')
  expect([code, out]).toEqual([1, ''])
  expect(JSON.parse(err)).toEqual({
    error: { code: 'failed', message: expect.stringContaining('DATABASE_URL is not set') },
  })
})
