import { setTimeout as delay } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { Account, Script } from '../provider.ts'
import { type Attack, type Attacker, type Verdict, within } from '../world.ts'

// A1, A6, A9 and B5: realtime and Live sessions.

const REALTIME = '/v1/realtime?model=gpt-realtime'
const LIVE = '/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
const LIVE_MODEL = 'models/gemini-live-2.5-flash-preview'
const CHEAP_LIVE_MODEL = 'models/gemini-2.0-flash-lite'

const configured = (type: 'realtime' | 'transcription' = 'realtime') => ({
  type: 'session.updated',
  session: {
    type,
    ...(type === 'realtime' ? { model: 'gpt-realtime' } : {}),
    audio: { input: { transcription: { model: 'gpt-4o-transcribe' } } },
  },
})
const CREATED = { type: 'response.created', response: { id: 'resp_1', usage: null } }
const done = (input: number, output: number, more: object = {}) => ({
  type: 'response.done',
  response: {
    id: 'resp_1',
    status: 'completed',
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...more,
  },
})
const TRANSCRIPT_USD = 0.08
const transcript = () => ({
  type: 'conversation.item.input_audio_transcription.completed',
  item_id: 'item_1',
  transcript: 'hello',
  usage: {
    type: 'tokens',
    input_tokens: 10_000,
    output_tokens: 2_000,
    total_tokens: 12_000,
    input_token_details: { audio_tokens: 10_000, text_tokens: 0 },
  },
})
const TURN = {
  serverContent: { turnComplete: true },
  usageMetadata: { promptTokenCount: 100_000, responseTokenCount: 2_500, totalTokenCount: 102_500 },
}
/** At $0.50 and $2 a million. */
const TURN_USD = 0.055

const say = (socket: WebSocket, ...events: readonly object[]) => {
  for (const event of events) socket.send(JSON.stringify(event))
}
/** The other side has all that was sent before. */
const flushed = async (socket: WebSocket) => {
  await new Promise<void>((resolve) => {
    const end = () => {
      socket.off('pong', end).off('close', end)
      resolve()
    }
    socket.on('pong', end).on('close', end)
    socket.ping()
  })
}
const opened = (socket: WebSocket) =>
  new Promise<void>((resolve) => {
    socket.once('open', () => resolve())
    socket.once('close', () => resolve())
  })
const closed = (socket: WebSocket, withinMs = 10_000) =>
  Promise.race([new Promise<void>((resolve) => socket.once('close', () => resolve())), delay(withinMs)])

/** A provider that says `events` at once, ends the session, and bills `usd`. */
const saying = (usd: number, ...events: readonly object[]): Script => ({
  session(socket, account) {
    account.bill(usd)
    say(socket, ...events)
    void flushed(socket).then(() => socket.close(1000))
  },
})

async function visit(attacker: Attacker, path = REALTIME): Promise<void> {
  const socket = attacker.open(path)
  socket.resume()
  await closed(socket)
}

/** One that was cut amid work: not complete, and flagged with a cost above 0. */
async function cutVerdict(attacker: Attacker, judge: () => Promise<Verdict>): Promise<Verdict> {
  const verdict = await judge()
  const [row] = await attacker.rows()
  return { ...verdict, figures: `${verdict.figures}, ${String(row?.outcome)}` }
}

const twenty = Array.from({ length: 20 }, transcript)

/** Answers Live turns by the model that the last setup named; goes on whatever the client does. */
const live = (account: { model: string }): Script => ({
  session(socket, book: Account) {
    socket.on('message', (bytes) => {
      const { setup, clientContent } = Object(JSON.parse(String(bytes)))
      if (setup !== undefined) account.model = String(setup.model)
      if (clientContent === undefined) return
      book.bill(account.model === CHEAP_LIVE_MODEL ? 0.008_25 : TURN_USD)
      say(socket, TURN)
      void flushed(socket).then(() => socket.close(1000))
    })
  },
})
const CONTENT = { clientContent: { turns: [{ role: 'user', parts: [{ text: 'hi' }] }], turnComplete: true } }

function liveAttack(id: string, says: string, talk: (socket: WebSocket) => void): Attack {
  return {
    id,
    says,
    async run(world) {
      const attacker = await world.attacker({ script: live({ model: '' }) })
      const socket = attacker.open(LIVE)
      await opened(socket)
      talk(socket)
      await closed(socket)
      const verdict = await world.judge(attacker)
      // Closed before anything of it went on: the provider has served nothing.
      return attacker.account.served === 0 ? { held: true, figures: 'closed, nothing served' } : verdict
    },
  }
}

export const SESSIONS: readonly Attack[] = [
  {
    id: 'A1.1',
    says: '20 transcriptions of input beside one small response',
    async run(world) {
      const events = [configured(), CREATED, done(10, 10), ...twenty]
      const attacker = await world.attacker({ script: saying(20 * TRANSCRIPT_USD + 0.0002, ...events) })
      await visit(attacker)
      return await world.judge(attacker)
    },
  },
  {
    id: 'A1.2',
    says: '20 transcriptions of input and no response',
    async run(world) {
      const attacker = await world.attacker({ script: saying(20 * TRANSCRIPT_USD, configured(), ...twenty) })
      await visit(attacker)
      return await world.judge(attacker)
    },
  },
  {
    id: 'A1.3',
    says: 'a transcription session cut between commit and transcript',
    async run(world) {
      const script: Script = {
        session: (socket) =>
          say(socket, configured('transcription'), {
            type: 'input_audio_buffer.committed',
            item_id: 'item_1',
          }),
      }
      const attacker = await world.attacker({ script })
      const socket = attacker.open('/v1/realtime?intent=transcription')
      await opened(socket)
      await flushed(socket)
      socket.close()
      return await cutVerdict(attacker, () => world.judge(attacker, { atLeastUsd: 0 }))
    },
  },
  liveAttack('A6.1', 'a Live setup of 300 KB with its model at the end', (socket) => {
    const systemInstruction = { parts: [{ text: 'x'.repeat(300 * 1024) }] }
    say(socket, { setup: { systemInstruction, model: LIVE_MODEL } }, CONTENT)
  }),
  liveAttack('A6.2', '1.1 MB of pings before a Live setup', (socket) => {
    for (let at = 0; at < 10_000; at += 1) socket.ping('x'.repeat(110))
    say(socket, { setup: { model: LIVE_MODEL } }, CONTENT)
  }),
  liveAttack('A6.3', 'a Live setup of a cheap model, then one of a dear model', (socket) => {
    say(socket, { setup: { model: CHEAP_LIVE_MODEL } }, { setup: { model: LIVE_MODEL } }, CONTENT)
  }),
  {
    id: 'A9.1',
    says: 'a realtime session cut between response.create and response.created',
    async run(world) {
      const attacker = await world.attacker({ script: { session: (socket) => socket.resume() } })
      const socket = attacker.open(REALTIME)
      await opened(socket)
      say(socket, { type: 'response.create' })
      await flushed(socket)
      socket.close()
      return await cutVerdict(attacker, () => world.judge(attacker, { atLeastUsd: 0 }))
    },
  },
  {
    id: 'A9.2',
    says: 'a Live session cut before its first turn',
    async run(world) {
      const attacker = await world.attacker({ script: { session: (socket) => socket.resume() } })
      const socket = attacker.open(LIVE)
      await opened(socket)
      say(socket, { setup: { model: LIVE_MODEL } }, CONTENT)
      await flushed(socket)
      socket.close()
      return await cutVerdict(attacker, () => world.judge(attacker, { atLeastUsd: 0 }))
    },
  },
  {
    id: 'A9.3',
    says: 'one message over 1 MiB among 30 responses',
    async run(world) {
      const responses = Array.from({ length: 30 }, (_, at) =>
        at === 12
          ? [CREATED, done(20_000, 15_250, { output: ['x'.repeat(1024 * 1024)] })]
          : [CREATED, done(20_000, 15_250)],
      )
      const attacker = await world.attacker({ script: saying(9.72, ...responses.flat()) })
      await visit(attacker)
      return await world.judge(attacker)
    },
  },
]

/** A transcript each 50 ms once the one before has arrived, up to 400. */
export const transcribing: Script = {
  session(socket, account) {
    say(socket, configured())
    void (async () => {
      while (socket.readyState === socket.OPEN && account.served < 400) {
        account.bill(TRANSCRIPT_USD)
        say(socket, transcript())
        await Promise.all([flushed(socket), delay(50)])
      }
    })()
  },
}

/** A session until the gateway ends it. @returns Whether it began. */
export async function beTranscribed(attacker: Attacker, gateway = 0): Promise<boolean> {
  const socket = attacker.open(REALTIME, { gateway })
  let began = false
  socket.once('open', () => {
    began = true
  })
  await closed(socket, 25_000)
  socket.terminate()
  return began
}

export const TRANSCRIPTIONS: Attack = {
  id: 'B5',
  says: 'a hard budget of 0.05 USD, 400 transcriptions',
  async run(world) {
    const attacker = await world.attacker({ budgetUsd: 0.05, script: transcribing })
    await beTranscribed(attacker)
    // Those that were on their way when the first one's figures came.
    return within(0.05, attacker.account, 5, `${attacker.account.served} of 400 delivered`)
  },
}
