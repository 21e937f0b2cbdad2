import type { Dialect, RequestContext, ResponseHead } from '../dialect.ts'
import { compileProjection, type ProjectionSpec } from '../wires/json.ts'
import { type BodyFormat, createBodyReader } from './body-reader.ts'
import type { JsonObject } from './json-value.ts'
import { createUpdateAccumulator, type UsageUpdate } from './usage-update.ts'

/** What an endpoint whose responses are JSON documents must say; the rest has defaults. */
export interface JsonDialect extends Partial<Omit<Dialect, 'name' | 'createReader'>> {
  readonly name: string
  readonly format: BodyFormat
}

/** A dialect whose reader is a {@link createBodyReader}. */
export function jsonDialect({ format, ...fields }: JsonDialect): Dialect {
  return {
    readsRequest: true,
    takesForm: false,
    takesIncludeUsage: false,
    errorShape: 'openai',
    modelInPath: () => null,
    textOf: () => '',
    ...fields,
    createReader: (_request, head) => createBodyReader(head, format),
  }
}

/** What an endpoint must say of whose calls not all that is billed stands in the answer. */
export interface RequestDialect extends Omit<JsonDialect, 'format'> {
  readonly format: Omit<BodyFormat, 'createAccumulator'>
  /** What is read of the request's body, as {@link compileProjection} takes it. */
  readonly wants: ProjectionSpec
  /** What the request and the head of a successful answer tell. */
  readonly readCall: (call: CallHead) => UsageUpdate
  /** What a document of the answer tells; it stands above what the call's head told. */
  readonly readAnswer?: (document: JsonObject, raw: string | null, call: CallHead) => UsageUpdate
}

export interface CallHead {
  readonly request: RequestContext
  readonly head: ResponseHead
  /** Of the request; without a member where nothing is known of it. */
  readonly fields: JsonObject
  /** The request's body was read and is beyond doubt, so that what is not in `fields` it does not say. */
  readonly isRead: boolean
}

/** A dialect that reads the request too: what it tells counts where the answer is a success, and no error is in it. */
export function requestDialect(options: RequestDialect): Dialect {
  const { format, wants, readCall, readAnswer, ...fields } = options
  const dialect = jsonDialect({
    ...fields,
    format: { ...format, createAccumulator: () => createUpdateAccumulator(() => null) },
  })
  return {
    ...dialect,
    countsTokens: false,
    billsUnits: true,
    requestProjection: compileProjection(wants),
    createReader(request, head) {
      const fields = request.fields ?? null
      const call: CallHead = { request, head, fields: fields ?? {}, isRead: fields !== null }
      const isSuccess = head.status >= 200 && head.status < 300
      const asked = isSuccess ? readCall(call) : {}
      const createAccumulator = () =>
        createUpdateAccumulator((document, raw) => readAnswer?.(document, raw, call) ?? null, asked)
      return createBodyReader(head, { ...format, createAccumulator })
    },
  }
}
