import type { Dialect, RequestContext, ResponseHead } from '../dialect.ts'
import { compileProjection } from '../wires/json.ts'
import { bodyFormat, type Fields, type UsageFormat } from './body-format.ts'
import { createBodyReader } from './body-reader.ts'
import type { JsonObject } from './json-value.ts'
import { createUpdateAccumulator, type UsageUpdate } from './usage-update.ts'

/**
 * The fields that an endpoint must give whose responses are JSON documents: its name and its format. The rest has
 * defaults.
 */
export interface JsonDialect extends UsageFormat, Partial<Omit<Dialect, 'name' | 'createReader'>> {
  readonly name: string
}

/** A dialect of an endpoint whose responses are JSON documents. */
export function jsonDialect(options: JsonDialect): Dialect {
  const {
    fields,
    prefilter,
    read,
    createAccumulator,
    isLines,
    namesItselfFirst,
    laterReplaces,
    ...described
  } = options
  const format = bodyFormat(options)
  return {
    readsRequest: true,
    takesForm: false,
    takesIncludeUsage: false,
    modelInPath: () => null,
    textOf: () => '',
    ...described,
    createReader: (_request, head) => createBodyReader(head, format),
  }
}

/**
 * The fields that an endpoint must give whose answers do not report all that is billed: part of that stands in the
 * request.
 */
export interface RequestDialect extends Omit<JsonDialect, 'read' | 'createAccumulator'> {
  /** The part of the request's body that is read. */
  readonly requestFields: Fields
  /** Reads what the request and the head of a successful answer report. */
  readonly readRequest: (call: CallHead) => UsageUpdate
  /** Reads what a document of the answer reports; it replaces what the request reported. */
  readonly readAnswer?: (document: JsonObject, raw: string | null, call: CallHead) => UsageUpdate
}

/** A request, and the head of its answer. */
export interface CallHead {
  readonly request: RequestContext
  readonly head: ResponseHead
  /** The request's fields; without any member where nothing is known of them. */
  readonly fields: JsonObject
  /** The request's body was read and is beyond doubt, so that what is not in `fields` it does not say. */
  readonly isRead: boolean
}

/**
 * A dialect that reads the request too: what that reports counts where the answer is a success without an error in it.
 */
export function requestDialect(options: RequestDialect): Dialect {
  const { requestFields, readRequest, readAnswer, ...described } = options
  const format = bodyFormat(described)
  return {
    ...jsonDialect(described),
    countsTokens: false,
    billsUnits: true,
    requestProjection: compileProjection(requestFields),
    createReader(request, head) {
      const fields = request.fields ?? null
      const call: CallHead = { request, head, fields: fields ?? {}, isRead: fields !== null }
      const isSuccess = head.status >= 200 && head.status < 300
      const asked = isSuccess ? readRequest(call) : {}
      const createAccumulator = () =>
        createUpdateAccumulator((document, raw) => readAnswer?.(document, raw, call) ?? null, asked)
      return createBodyReader(head, { ...format, createAccumulator })
    },
  }
}
