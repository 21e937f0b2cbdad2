import { parentPort } from 'node:worker_threads'
import { estimatePromptTokens, estimateTextTokens } from './estimate-tokens.ts'

/** What the thread is asked to count. */
export interface EstimateJob {
  readonly id: number
  /** A text that was generated, or a request's body whose prompt is meant. */
  readonly counted: string | Uint8Array
  readonly model: string | null
  readonly dialectName: string
}

/** `tokens: null`: they cannot be told. */
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

function estimate({ counted, model, dialectName }: EstimateJob): Promise<number | null> {
  if (typeof counted === 'string') return estimateTextTokens(counted, model, dialectName)
  const body = Buffer.from(counted.buffer, counted.byteOffset, counted.length)
  return estimatePromptTokens(body, model, dialectName)
}
