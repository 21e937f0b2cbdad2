import { cleanModel } from '../../domain/clean-text.ts'
import type { Dialect } from '../../providers/dialect.ts'
import { JsonScanner } from '../../providers/wires/json.ts'
import { createFrameReader, type FrameReader } from '../../providers/wires/websocket-frames.ts'
import type { BodyRoom, UploadProblem } from '../bodies/body-budget.ts'
import type { SessionNames } from './session-names.ts'

/**
 * Waits of what a client sends before its first message is whole, where that has to name the model: instructions and
 * tools, too, but no film.
 */
const MAX_HELD_BYTES = 2 * 1024 * 1024

export interface ClientEvents {
  /** As the handshake names it, whatever messages say; `null`: it does not. */
  readonly model: string | null
  /** The client has named its model, for the first time. */
  onModel(model: string): void
  /** The client has asked for a response. */
  onAsked(): void
  /** Opens the room in memory of a first message that is not whole yet; `end` is called when it has to be dropped. */
  openRoom(end: (problem: UploadProblem) => void): BodyRoom
  /** The client closes the session. False: the upstream is not to know of it before `releaseClose`. */
  onClose(): boolean
  /** The session has to end, for this reason. Called at most once, and nothing after it. */
  onRefused(reason: string): void
  /** Whether what waited for a message to be judged may still go upstream. */
  readonly isOpen: boolean
  /** It may go upstream now. */
  onJudged(): void
}

/** What a message says. */
interface Said {
  /** The first model of the session; `null`: it names none, or not the first. */
  readonly model: string | null
  readonly asks: boolean
  /** Why it may not go on, whatever objects it names; `null`: it may. */
  readonly wrong: string | null
}

const NO_NAMES: readonly string[] = []

const WITHOUT_ROOM: Readonly<Record<UploadProblem, string>> = {
  busy: 'finds no room in memory now',
  slow: 'comes too slowly',
}

/** Reads what a session's client says of its model and of objects, and that it asks for responses. */
export class ClientMessages {
  readonly #dialect: Dialect
  readonly #events: ClientEvents
  readonly #frames: FrameReader
  readonly #names: SessionNames | null
  /** Of the message that passes now; `null`: none does. */
  #scanner: JsonScanner | null = null
  #model: string | null = null
  /** The first message has to be read before anything goes upstream. */
  #holds: boolean
  /** What waits of the first message takes room as bodies do. */
  #room: BodyRoom | null = null
  #hasArrived = false
  #isRefused = false
  /** The client's close frame may go upstream; `null`: it has not come, or what came before is not judged. */
  #passesClose: boolean | null = null
  /** All bytes that have come. */
  #bytes = 0
  /** Those up to the end of the last message that may go upstream. */
  #fineBytes = 0
  /** Messages behind those whose verdict is not known yet, in their order. */
  #judging = 0
  #lastVerdict: Promise<void> = Promise.resolve()

  /** @param names judges the objects that messages name; `null`: they name none. */
  constructor(dialect: Dialect, events: ClientEvents, names: SessionNames | null = null) {
    this.#dialect = dialect
    this.#events = events
    this.#names = names
    this.#holds = dialect.setupNamesModel === true
    this.#frames = createFrameReader({
      onPiece: (bytes) => this.#scan(bytes),
      onEnd: (rest) => this.#end(this.#bytes - rest),
    })
  }

  /** Of the client's bytes, those that may go upstream. What ends a message comes behind all else of it. */
  get passableBytes(): number {
    if (this.isUnsaid || this.isJudging || this.#isRefused) return this.#fineBytes
    return this.#passesClose === true ? this.#readBytes : this.#beforeClose
  }

  /** A verdict is awaited: until it comes, nothing more has to be read. */
  get isJudging(): boolean {
    return this.#judging > 0
  }

  /** Nothing that the client said may have gone upstream. */
  get isUnsaid(): boolean {
    return this.#holds
  }

  /** The client's close frame has come, and waits. */
  get holdsClose(): boolean {
    return this.#passesClose === false
  }

  releaseClose(): void {
    if (this.holdsClose) this.#passesClose = true
  }

  /** Whether the first `bytes` of the client's end with a frame, as far as that is known. */
  endsFrame(bytes: number): boolean {
    const { isBetween, closeBytes } = this.#frames
    if (bytes === this.#fineBytes || (bytes === this.#readBytes && isBetween)) return true
    return bytes === this.#beforeClose && closeBytes > 0
  }

  /** All that is read: what stands behind the end of the session is not, and a server might take it all the same. */
  get #readBytes(): number {
    return this.#bytes - this.#frames.surplusBytes
  }

  get #beforeClose(): number {
    return this.#readBytes - this.#frames.closeBytes
  }

  /** The client's next bytes. Borrowed. */
  push(chunk: Uint8Array): void {
    if (this.#isRefused) return
    this.#bytes += chunk.length
    this.#frames.push(chunk)
    const { blind, finished } = this.#frames
    // A server that is not strict might read on where this does not, and one that is ends the session amid a response.
    if (blind) this.#refuse('cannot be read')
    if (this.#holds && !this.isJudging) {
      if (this.#bytes > MAX_HELD_BYTES) this.#refuse('is too large')
      // It closed the session before it said anything.
      else if (finished && !blind) this.#holds = false
    }
    this.#takeRoom(chunk.length)
    this.#judgeClose()
  }

  #takeRoom(bytes: number): void {
    if (!this.#holds || this.#isRefused) {
      this.releaseRoom()
      return
    }
    this.#room ??= this.#events.openRoom((problem) => this.#refuse(WITHOUT_ROOM[problem]))
    if (!this.#room.grow(bytes)) this.#refuse(WITHOUT_ROOM.busy)
    else if (this.isJudging || this.#frames.isBetweenMessages) {
      // Who answers pings and says nothing yet is not slow.
      this.#room.arrived()
      this.#hasArrived = true
    } else if (this.#hasArrived) {
      this.#room.resume()
      this.#hasArrived = false
    }
  }

  /** Nothing of the client's waits any more. */
  releaseRoom(): void {
    this.#room?.release()
    this.#room = null
  }

  /** Behind all that the client said before. */
  #judgeClose(): void {
    const { finished, blind } = this.#frames
    if (!finished || blind || this.#passesClose !== null) return
    if (!this.#isRefused && !this.isJudging && !this.#holds) this.#passesClose = this.#events.onClose()
  }

  #scan(bytes: Buffer): void {
    const format = this.#dialect.clientMessages
    // A member that stands there twice means something else to another reader.
    if (format !== undefined) this.#scanner ??= new JsonScanner(format.projection, true)
    this.#scanner?.push(bytes)
    this.#names?.push(bytes)
  }

  /** What the message says that has ended. */
  #read(): Said {
    const format = this.#dialect.clientMessages
    const scanner = this.#scanner
    this.#scanner = null
    if (format === undefined || scanner === null) return { model: null, asks: false, wrong: null }
    scanner.end()
    const { model, fixesModel, asks } = format.read(scanner.extracted.value)
    const said = { model: this.#model === null ? model : null, asks }
    const wrong = scanner.isAmbiguous ? 'says something twice' : this.#wrongWith(model, fixesModel === true)
    this.#model ??= model
    return { ...said, wrong }
  }

  /** A message has ended: it goes on if its client may use what it names, and all before it did. */
  #end(at: number): void {
    if (this.#isRefused) return
    if (this.#holds && !this.isJudging && at > MAX_HELD_BYTES) {
      this.#refuse('is too large')
      return
    }
    const said = this.#read()
    const named = this.#names?.end() ?? NO_NAMES
    const found = said.wrong ?? named
    // One after the other: a client may write thousands in the time of one look-up.
    const verdict = this.isJudging
      ? this.#lastVerdict.then(() => this.#verdictOn(found))
      : this.#verdictOn(found)
    if (!(verdict instanceof Promise)) {
      this.#decide(said, verdict, at)
      return
    }
    this.#judging += 1
    this.#lastVerdict = verdict.then((wrong) => {
      if (!this.#events.isOpen) return
      this.#judging -= 1
      this.#decide(said, wrong, at)
      this.#judgeClose()
      this.#events.onJudged()
    })
  }

  /** @param found what is wrong with the message, or the objects that it names. */
  #verdictOn(found: string | readonly string[]): string | null | Promise<string | null> {
    if (typeof found === 'string') return found
    return this.#isRefused || !this.#events.isOpen ? null : (this.#names?.judge(found) ?? null)
  }

  #decide({ model, asks }: Said, wrong: string | null, at: number): void {
    if (this.#isRefused) return
    if (wrong !== null) {
      this.#refuse(wrong)
      return
    }
    this.#holds = false
    this.releaseRoom()
    this.#fineBytes = at
    if (model !== null) this.#events.onModel(model)
    if (asks) this.#events.onAsked()
  }

  /** What is wrong with a message that names this model; `null`: nothing. */
  #wrongWith(model: string | null, fixesModel: boolean): string | null {
    const isSetup = this.#dialect.setupNamesModel === true
    if (isSetup && model === null && this.#model === null) return 'names no model'
    if (model === null || !(isSetup || fixesModel)) return null
    const known = isSetup ? this.#model : (this.#events.model ?? this.#model)
    const isSame = known === model || (fixesModel && cleanModel(model) === cleanModel(known))
    return known === null || isSame ? null : 'names another model'
  }

  #refuse(what: string): void {
    if (this.#isRefused) return
    this.#isRefused = true
    this.releaseRoom()
    const which = this.#holds ? 'The first message of this session' : 'A message of this session'
    this.#events.onRefused(`${which} ${what}.`)
  }
}
