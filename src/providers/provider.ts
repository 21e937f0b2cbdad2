import type { ObjectKind } from '../call/object-event.ts'
import { compilePathPatterns } from '../domain/path-patterns.ts'
import type { CatalogLists } from './catalog-lists.ts'
import type { AnswerForm, Endpoint } from './dialect.ts'
import type { OpenAiOverrides } from './openai/openai-overrides.ts'
import type { OwnAddresses } from './own-addresses.ts'

/** The header in which a provider takes our API key. */
export interface CredentialHeader {
  /** Lower case. */
  readonly name: string
  /** The text before the key in the value; '' where the value is the key. */
  readonly prefix: string
}

/** `Authorization: Bearer <key>`: what most providers take. */
export const BEARER: CredentialHeader = { name: 'authorization', prefix: 'Bearer ' }

/** A header of the provider's own whose value is the key. */
export function keyHeader(name: string): CredentialHeader {
  return { name, prefix: '' }
}

/** How it is known where a provider serves a call, where its prices depend on that. Each gives a word of its places. */
export interface PlaceRules {
  /** By the host, in lower case; `null`: the usual place. */
  readonly ofHost?: (host: string) => string | null
  /** By a canonical path; `''`: the usual place, `null`: the path does not say. */
  readonly ofPath?: (path: string) => string | null
  /** Neither says it, and no answer does: the operator has to. */
  readonly isAsked?: true
}

/** The APIs that client libraries are written for, and that providers take from each other. */
export type ApiFamily = 'openai' | 'anthropic' | 'google' | 'bedrock' | 'ollama' | 'cohere'

/** The fields of every provider's entry. */
interface ProviderFields {
  readonly credential: CredentialHeader
  /**
   * The provider's own endpoints. A path means the first that matches; after these come the endpoints in OpenAI's
   * formats, which every provider may have.
   */
  readonly endpoints: readonly Endpoint[]
  /** Whose APIs it serves, its own first; absent: OpenAI's alone. Chat in OpenAI's format is beside these. */
  readonly apis?: readonly [ApiFamily, ...ApiFamily[]]
  /** Paths, as patterns, that only its own API has, beside those of `endpoints` and of the groups below. */
  readonly ownPaths?: readonly string[]
  /** All that it serves is below `/v1`: a path of its API without that means the one with it. */
  readonly isBelowV1?: true
  /** It has OpenAI's API below `/openai`, where OpenAI itself has nothing. */
  readonly isBelowOpenAi?: true
  /** How usage in OpenAI's formats differs here from OpenAI's own. */
  readonly openAi: OpenAiOverrides
  /** Headers of requests that say at which service tier they are to be served, in lower case; absent: none do. */
  readonly tierHeaders?: readonly string[]
  /** The members that change the form of answers on all of its paths; absent: nothing that is known. */
  readonly answerForm?: AnswerForm
  /** The places where its answers hold addresses of its own; absent: in `location` and `content-location` alone. */
  readonly ownAddresses?: OwnAddresses
  /** A call costs what its price says of a call, although nothing of it is counted; absent: then it costs nothing. */
  readonly billsCalls?: true
  /** Headers of requests that the gateway makes for itself; absent: none. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** Path and query of the list of models; absent: `/v1/models`, `null`: it has none. */
  readonly modelListPath?: string | null
  /**
   * Requests with a body that cost nothing, or only begin work that is billed later. When in doubt a path stays out.
   */
  readonly freePaths?: readonly PathGroup[]
  /** Requests that cost something, in answers without figures: unpriced, never 0. */
  readonly billedApartPaths?: readonly PathGroup[]
  /** The paths that are refused unless the operator allows them. */
  readonly refusedPaths?: readonly PathGroup[]
  /** The same by the whole path: that of the upstream's address, and the call's behind it. */
  readonly refusedWholePaths?: readonly PathGroup[]
  /**
   * What it keeps for its clients, by the segments of a path, in lower case, that stand before an id or at the end.
   * Where one begins another, the longer one is meant. `*` is any segment; with a slash before it, none stands before.
   */
  readonly collections?: Readonly<Record<string, ObjectKind>>
  /**
   * The places of jobs that are fetched elsewhere than below the path that they were submitted to: by that path, as
   * `replace` takes both. Absent: as in the formats of OpenAI and Google.
   */
  readonly fetchedAt?: readonly (readonly [submitted: RegExp, place: string])[]
  /**
   * Every answer can be read again by its id, which the answer has, or before that this header of it, in lower case.
   * Absent: only what stands in `collections`.
   */
  readonly keepsAnswers?: { readonly idHeader?: string }
  /**
   * The results of its batches come in pages below `/results` of a batch (`?limit=`, `pagination_token`), while it runs,
   * too. Absent: a batch that has ended says all that it used.
   */
  readonly batchesInPages?: true
  /** Absent: it costs the same wherever it is served. */
  readonly place?: PlaceRules
}

/** A provider that serves at addresses of its own and has a price list. */
export interface HostedProvider extends ProviderFields {
  /**
   * Host names in lower case, without port, by which the provider is known: `*.` before one stands for any
   * subdomains, `*` inside a label for any text of that label.
   */
  readonly hosts: readonly [string, ...string[]]
  readonly catalog: CatalogLists
  /** Its answers say what a call cost, and that is what it bills: the figure is believed at these hosts. */
  readonly reportsCost?: true
  /** Most of its models reason without showing it: a model whose name says nothing is taken for one of those. */
  readonly hidesReasoning?: true
  /** Models, by words of their names, of whose answers it shows a call of a tool without the words before it. */
  readonly dropsWordsBeforeCalls?: RegExp
  readonly isAnyServer?: never
}

/**
 * Software that anyone may run at any address: known only by the configuration, priced only by the operator. Its router
 * may serve a generation below a path that is free elsewhere, so an answer with usage always counts.
 */
export interface OwnServer extends ProviderFields {
  readonly hosts: readonly []
  /** It may be any such server, or have any behind it: what is refused at one of them is refused here. */
  readonly isAnyServer?: true
  readonly catalog: null
  readonly reportsCost?: never
  readonly hidesReasoning?: never
  readonly dropsWordsBeforeCalls?: never
}

/** Everything that the gateway knows of one provider: each table over providers is derived from these entries. */
export type ProviderEntry = HostedProvider | OwnServer

/** Paths that no dialect reads, and what is known of them. */
export interface PathGroup {
  /** As {@link compilePathPatterns} takes them. */
  readonly patterns: readonly string[]
  readonly why: string
  /** The request only begins work: what reports the usage of that. Absent: nothing is left to report. */
  readonly reportedBy?: string
}

/** Finds the first group of a list that a path belongs to; `path` is canonical, without a slash at its end. */
export type FindGroup = (method: string, path: string) => PathGroup | null

/** Compiles `groups` for {@link FindGroup}. Do it once, not for every call. */
export function groupFinder(groups: readonly PathGroup[]): FindGroup {
  const byPattern = new Map<string, PathGroup>()
  for (const group of groups) {
    for (const pattern of group.patterns) if (!byPattern.has(pattern)) byPattern.set(pattern, group)
  }
  const match = compilePathPatterns([...byPattern.keys()])
  return (method, path) => {
    const pattern = match(method, path)
    return pattern === null ? null : (byPattern.get(pattern) ?? null)
  }
}
