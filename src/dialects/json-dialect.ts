import { type BodyFormat, createBodyReader } from './body-reader.ts'
import type { Dialect } from './dialect.ts'

/** What an endpoint whose responses are JSON documents must say; the rest has defaults. */
export interface JsonDialect {
  readonly name: string
  readonly format: BodyFormat
  readonly takesForm?: boolean
  readonly takesIncludeUsage?: boolean
  readonly errorShape?: Dialect['errorShape']
  readonly isFree?: true
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
    modelInPath: parts.modelInPath ?? (() => null),
    createReader: (_request, head) => createBodyReader(head, parts.format),
    textOf: parts.textOf ?? (() => ''),
  }
}
