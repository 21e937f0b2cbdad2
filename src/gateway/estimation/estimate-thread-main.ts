import { parentPort } from 'node:worker_threads'
import type { TokenizerFamily } from '../../providers/dialect.ts'
import type { CalledTools } from './called-tools.ts'
import { estimatePromptTokens, estimateTextTokens } from './estimate-tokens.ts'

/** What the thread is asked to count. */
export interface EstimateJob {
  readonly id: number
  /** A text that was generated, or a request's body whose prompt is meant. */
  readonly counted: string | Uint8Array
  readonly model: string | null
  readonly tokenizerFamily: TokenizerFamily
  readonly isChat: boolean
  /** Of a text: what was called in it. */
  readonly called: CalledTools
}

/** `tokens: null`: they cannot be counted. */
export interface EstimateAnswer {
  readonly id: number
  readonly tokens: number | null
}

parentPort?.on('message', (job: EstimateJob) => {
  estimate(job)
    .catch(() => null)
    .then((tokens) => {
      const answer: EstimateAnswer = { id: job.id, tokens }
      parentPort?.postMessage(answer)
    })
})

function estimate(job: EstimateJob): Promise<number | null> {
  const { counted, model } = job
  if (typeof counted === 'string') return estimateTextTokens(counted, model, job, job.called)
  const body = Buffer.from(counted.buffer, counted.byteOffset, counted.length)
  return estimatePromptTokens(body, model, job)
}
