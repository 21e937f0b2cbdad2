import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import type { Dialogue } from './servers/redis-program.ts'

/** Colours only where the terminal shows them and NO_COLOR is not set. */
export type Paint = (style: 'bold' | 'dim' | 'green' | 'red' | 'cyan', text: string) => string

export interface Terminal extends Dialogue {
  readonly paint: Paint
  /** Prints an error to stderr. */
  complain(text: string): void
  print(text: string): void
}

/** The user's terminal, or stdout as it is. A closed one loses lines, never the process. */
export function openTerminal(): Terminal {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const paint: Paint = (style, text) => styleText(style, text, { stream: process.stdout })
  return {
    paint,
    print: (text) => void process.stdout.write(`${text}\n`),
    say: (line) => void process.stdout.write(`${paint('dim', `· ${line}`)}\n`),
    complain: (text) => void process.stderr.write(`${text}\n`),
    ask,
  }
}

/** Enter means yes. Without a terminal, or in CI, starting implies consent. */
async function ask(prompt: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY || process.env.CI) return true
  const asking = createInterface({ input: process.stdin, output: process.stdout })
  asking.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return !/^\s*n/i.test(await asking.question(`${prompt} [Y/n] `))
  } finally {
    asking.close()
  }
}
