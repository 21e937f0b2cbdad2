import { type OwnProcess, startOwnProcess } from '../../../src/standalone/stand/own-process.ts'
import type { Target } from '../targets/target.ts'
import type { Course, LoadAnswer, LoadResult } from './loads.ts'
import type { Shape } from './shapes.ts'

/** A run that takes longer than this hangs. */
const LONGEST_RUN_MS = 120_000

/** The load generator, seen from the process that gives it its orders. */
export class GeneratorProcess {
  readonly #process: OwnProcess

  private constructor(started: OwnProcess) {
    this.#process = started
  }

  static async start(): Promise<GeneratorProcess> {
    return new GeneratorProcess(await startOwnProcess('bench/overhead/load/generator.ts'))
  }

  get pid(): number {
    return this.#process.pid
  }

  /** @throws when an answer is not byte for byte the expected one, where the target keeps bytes, or there is none */
  async run(target: Target, shape: Shape, course: Course): Promise<LoadResult> {
    const { host, port } = target
    const request = requestTo(target, shape)
    const { child } = this.#process
    const answer = await new Promise<LoadAnswer>((resolve) => {
      const timer = setTimeout(
        () => resolve({ problem: `no end after ${LONGEST_RUN_MS} ms` }),
        LONGEST_RUN_MS,
      )
      child.once('message', (said: LoadAnswer) => {
        clearTimeout(timer)
        resolve(said)
      })
      const expected = target.keepsBytes ? shape.expected : null
      child.send({ host, port, request, expected, course })
    })
    if ('problem' in answer) throw new Error(`${target.name}, ${shape.name}: ${answer.problem}`)
    return answer.result
  }
}

function requestTo({ host, port, key, takesAllWires }: Target, { path, body, headers = [] }: Shape): Buffer {
  const head = [
    `POST ${takesAllWires ? path : path.replace(/^\/at-\w+/, '')} HTTP/1.1`,
    `host: ${host}:${port}`,
    'user-agent: bench',
    'accept: */*',
    'content-type: application/json',
    `authorization: Bearer ${key}`,
    ...headers,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}
