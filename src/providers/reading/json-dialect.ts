import type { Dialect, RequestFacts, ResponseHead } from '../dialect.ts'
import { planJson, type Wanted } from '../wires/json.ts'
import { type BodyFormat, createBodyReader } from './body-reader.ts'
import type { JsonObject } from './json-value.ts'
import { createToldGatherer, type Told } from './usage-update.ts'

/** What an endpoint whose responses are JSON documents must say; the rest has defaults. */
export interface JsonDialect {
  readonly name: string
  readonly format: BodyFormat
  readonly takesForm?: boolean
  readonly takesIncludeUsage?: boolean
  readonly errorShape?: Dialect['errorShape']
  readonly isFree?: true
  readonly hidesModel?: true
  readonly modelInPath?: Dialect['modelInPath']
  readonly textOf?: Dialect['textOf']
}

/** A dialect whose reader is a {@link createBodyReader}. */
export function jsonDialect(parts: JsonDialect): Dialect {
  return {
    name: parts.name,
    readsRequest: true,
    takesForm: parts.takesForm ?? false,
    takesIncludeUsage: parts.takesIncludeUsage ?? false,
    errorShape: parts.errorShape ?? 'openai',
    ...(parts.isFree === true ? { isFree: true } : {}),
    ...(parts.hidesModel === true ? { hidesModel: true } : {}),
    modelInPath: parts.modelInPath ?? (() => null),
    createReader: (_request, head) => createBodyReader(head, parts.format),
    textOf: parts.textOf ?? (() => ''),
  }
}

/** What an endpoint must say of whose calls not all that is billed stands in the answer. */
export interface RequestDialect extends Omit<JsonDialect, 'format'> {
  readonly format: Omit<BodyFormat, 'createGatherer'>
  /** What is read of the request's body, as {@link planJson} takes it. */
  readonly wants: Wanted
  /** What the request and the head of a successful answer tell. */
  readonly readCall: (call: CallHead) => Told
  /** What a document of the answer tells; it stands above what the call's head told. */
  readonly readAnswer?: (document: JsonObject, raw: string | null, call: CallHead) => Told
}

export interface CallHead {
  readonly request: RequestFacts
  readonly head: ResponseHead
  /** Of the request; without a member where nothing is known of it. */
  readonly fields: JsonObject
  /** The request's body was read and is beyond doubt, so that what is not in `fields` it does not say. */
  readonly isRead: boolean
}

/** A dialect that reads the request too: what it tells counts where the answer is a success, and no error is in it. */
export function requestDialect(parts: RequestDialect): Dialect {
  const { format, wants, readCall, readAnswer } = parts
  const dialect = jsonDialect({
    ...parts,
    format: { ...format, createGatherer: () => createToldGatherer(() => null) },
  })
  return {
    ...dialect,
    countsTokens: false,
    requestPlan: planJson(wants),
    createReader(request, head) {
      const fields = request.fields ?? null
      const call: CallHead = { request, head, fields: fields ?? {}, isRead: fields !== null }
      const isSuccess = head.status >= 200 && head.status < 300
      const told = isSuccess ? readCall(call) : {}
      const createGatherer = () =>
        createToldGatherer((document, raw) => readAnswer?.(document, raw, call) ?? null, told)
      return createBodyReader(head, { ...format, createGatherer })
    },
  }
}
