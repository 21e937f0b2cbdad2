import { expect, test } from 'vitest'
import { run } from '../cli/command-line.ts'
import { settled } from './settled.ts'

// What every command says of itself. `npm run golden` writes these files again; the change is then read like any other.

/** The help of a command, and of all below it. */
async function helpOf(path: readonly string[]): Promise<string> {
  const { code, out } = await run({}, ...path, '--help')
  expect(code, path.join(' ')).toBe(0)
  const below = commandsIn(out).map((name) => helpOf([...path, name]))
  return [`$ tallygate ${[...path, '--help'].join(' ')}\n${out}`, ...(await Promise.all(below))].join('\n')
}

function commandsIn(help: string): readonly string[] {
  const [, list = ''] = help.split(/^Commands:$/m)
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)\b/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help')
}

const top = (await run({}, '--help')).out

test('what the program says of itself', async () => {
  await expect(settled(top)).toMatchFileSnapshot('help/tallygate.golden.txt')
})

test.each(commandsIn(top))('what %s and the commands below it say of themselves', async (name) => {
  await expect(settled(await helpOf([name]))).toMatchFileSnapshot(`help/${name}.golden.txt`)
})
