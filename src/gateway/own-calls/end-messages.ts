import { z } from 'zod'

/** A client's last call that ended at a gateway process. */
export interface End {
  readonly producer: string
  /** Of its record. */
  readonly sequence: number
}

const asking = z.object({
  number: z.number(),
  /** Who asks: the reply goes to a channel of its own. */
  from: z.string(),
  clients: z.array(z.string()).readonly(),
})

const reply = z.object({
  /** Of what was asked. */
  number: z.number(),
  /** Of the process that replies, among the gateways. */
  name: z.string(),
  ends: z.array(z.object({ client: z.string(), producer: z.string(), sequence: z.number() })).readonly(),
})

/** Which calls of these clients have ended? */
export type EndsAsked = z.infer<typeof asking>
export type EndsReply = z.infer<typeof reply>

const message = z.union([asking, reply])

/** `null`: it is none of ours, or of a later release. */
export function parseMessage(text: string): EndsAsked | EndsReply | null {
  try {
    return message.parse(JSON.parse(text))
  } catch {
    return null
  }
}
