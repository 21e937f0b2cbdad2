import type { z } from 'zod'
import type { ErrorName } from '../http/errors.ts'
import type { LogEvent } from '../lib/log-events.ts'
import type { Actor } from './audit/audit-table.ts'
import type { Ports } from './ports.ts'

/** What tokens of operators may ask for: each of these includes those before it. */
export const OPERATOR_ROLES = ['read', 'write', 'admin'] as const

export type OperatorRole = (typeof OPERATOR_ROLES)[number]

/**
 * What tokens of the clients' page may ask for, each of these including those before it. `client`: to read, of itself
 * alone. `member`: keys of its own, too. `owner`: members of its group, too.
 */
export const CLIENT_ROLES = ['client', 'member', 'owner'] as const

export type ClientRole = (typeof CLIENT_ROLES)[number]

/** Who may ask for an operation. */
export type Role = OperatorRole | ClientRole

/** Tells whether a role includes another. None of operators includes one of clients, nor the other way round. */
export function mayDo(has: Role, needed: Role): boolean {
  const order = ([OPERATOR_ROLES, CLIENT_ROLES] as readonly (readonly Role[])[]).find((roles) =>
    roles.includes(needed),
  )
  return order?.includes(has) === true && order.indexOf(has) >= order.indexOf(needed)
}

/** Whether an operation is for the clients' page, and has no place at the operator's listener. */
export function isOfClients(role: Role): role is ClientRole {
  return (CLIENT_ROLES as readonly Role[]).includes(role)
}

/** The parameters of an operation, each with its rule, as they are named over HTTP. */
export type OperationFields = Readonly<Record<string, z.ZodType>>

/** The checked parameters. */
export type InputOf<Given extends OperationFields> = z.output<z.ZodObject<Given>>

/** Where an operation with these fields is under `/admin/v1`, or under `/portal/v1` for roles of clients. */
export interface OperationRoute<Field = string> {
  /** OperationFields of a GET or DELETE are its query, those of the others its body. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** OperationFields in braces are in the path: `/limits/{id}`. */
  readonly path: string
  /** The name in `/openapi.json`, which generated clients use. */
  readonly id: string
  readonly status?: 200 | 201
  /** The name of the body's schema. */
  readonly body?: string
  /** The largest body, where it is not as small as those of the others. */
  readonly bodyLimitBytes?: number
  /** The `limit` of a list where none is asked for: the command line then shows all. */
  readonly rows?: number
  /** Fields that only the command line has, such as a file on its machine. */
  readonly without?: readonly Field[]
}

export interface NoRouteOfItsOwn {
  /** Why a server cannot do this for itself, or the names of the operations that do the same over HTTP. */
  readonly none: string | readonly string[]
}

/** A column of a table: its heading, and the cell of a row. */
export interface Column<Row> {
  readonly heading: string
  /** Numbers stand on the right. */
  readonly align?: 'right'
  readonly cell: (row: Row) => string
}

/** A list as the command line prints it. */
export interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  /** The sentence in place of a table without rows. */
  readonly empty: string
}

/** The command of an operation. What is left out follows from its fields. */
export interface OperationCommand<Input, Found> {
  /** `limits raise`. The first word is the chapter's own, or the whole. */
  readonly words: string
  /** Another name for the same: `show` for `calls find`. */
  readonly alias?: string
  /**
   * Where a field is not `--its-name`: an argument such as `<name>`, or an option such as `--by <groups>`. An option
   * that ends in `-file <file>` takes the text of that file, and so does an argument such as `[list-file]`. `null`: the command line does not have it.
   */
  readonly options?: { readonly [Field in keyof Input]?: string | null }
  /** The JSON of the command, where it is not that of HTTP. */
  readonly json?: (found: Found, input: Input) => unknown
  /** The text of what was found, or the columns of a list. */
  readonly print: ((found: Found, input: Input) => string) | ListingOf<Found>
  /** 1: what was asked for is not as it should be. 2: there is something to change. 3: nothing was there to check by. */
  readonly exitCode?: (found: Found) => ExitCode
}

export type ExitCode = 0 | 1 | 2 | 3

type ListingOf<Found> = Found extends readonly (infer Row)[] ? Listing<Row> : never

/** What an operation changes. */
export interface Change<Found> {
  readonly event: LogEvent
  /** The text of the log line. */
  readonly says: string
  /** The fields of the log line: ids, never names or secrets. `null`: nothing was changed. */
  readonly log: (found: Found) => Readonly<Record<string, unknown>> | null
  /** Gateways keep it in memory, so it is announced to them at once. */
  readonly isAnnounced?: boolean
  /** It commits in parts, or waits for others, so it cannot be one transaction with its row of the audit. */
  readonly inParts?: boolean
}

/** A change of what was found, which the log names by its `id`: `{ [thing]: id }`. */
export function changeOf(event: LogEvent, says: string, thing: string): Change<{ readonly id: string }> {
  return { event, says, log: ({ id }) => ({ [thing]: id }) }
}

/** The same of what gateways keep in memory. */
export function announcedChange(
  event: LogEvent,
  says: string,
  thing: string,
): Change<{ readonly id: string }> {
  return { ...changeOf(event, says, thing), isAnnounced: true }
}

/** One thing that can be done or asked. `Found` is what it gives inside, `Answer` the JSON of that. */
export interface Operation<Needs extends Ports, Given extends OperationFields, Answer, Found = Answer> {
  /** `limits.raise`. */
  readonly name: string
  /** One sentence. */
  readonly summary: string
  readonly description?: string
  readonly role: Role
  readonly http: OperationRoute<keyof Given> | NoRouteOfItsOwn
  readonly input: Given
  /** Rules over several fields. `refuse` names the field at fault. */
  readonly check?: (input: InputOf<Given>) => void
  /** The answer's schema, and one sentence about it. */
  readonly answer: z.ZodType<Answer>
  readonly gives: string
  /** What it can be refused for, beside bad parameters, a missing token and a store that is away. */
  readonly errors?: readonly ErrorName[]
  readonly changes?: Change<Found>
  /** It reads many rows, so a replica may answer, which says of when it is. */
  readonly isReport?: boolean
  /**
   * Its answer has a tag. An asker that holds the answer with that tag gets no other, and nothing is read for it:
   * `Ports.holds`.
   */
  readonly isConditional?: boolean
  /**
   * It may take minutes: the command line can say how far it has come, and a gateway does one such at a time, over a
   * connection of its own.
   */
  readonly isLong?: boolean
  /** It prices calls, so the command line can say by whose prices. */
  readonly isPriced?: boolean
  /** The command runs where no database is named, too. */
  readonly needsNoStores?: boolean
  /** It gives `LongText` of one of these content types. */
  readonly streams?: readonly string[]
  readonly command: OperationCommand<InputOf<Given>, Found> | { readonly none: string | readonly string[] }
  /** @param who Who asks, for tables of the chapter. @param actor The same, for other operations that it runs. */
  readonly run: (
    ports: Needs,
    input: InputOf<Given>,
    who: string,
    actor: Actor,
  ) => Promise<Found | Part<Found> | Unchanged>
}

/** Any operation of those ports, as a renderer sees it. */
export type AnyOperation<Has extends Ports> = Omit<
  Operation<Has, OperationFields, unknown>,
  'answer' | 'command' | 'changes' | 'check' | 'run'
> & {
  readonly answer: z.ZodType
  readonly command: AnyCommand | { readonly none: string | readonly string[] }
  readonly changes?: Omit<Change<unknown>, 'log'> & {
    readonly log: (found: never) => Readonly<Record<string, unknown>> | null
  }
  readonly check?: (input: never) => void
  readonly render?: (found: never, input: never) => unknown
  readonly run: (ports: Has, input: never, who: string, actor: Actor) => Promise<unknown>
}

/** Any command, as the command line sees it. */
export interface AnyCommand {
  readonly words: string
  readonly alias?: string
  readonly options?: Readonly<Record<string, string | null | undefined>>
  readonly json?: (found: never, input: never) => unknown
  readonly print:
    | ((found: never, input: never) => string)
    | {
        readonly columns: readonly (Omit<Column<unknown>, 'cell'> & {
          readonly cell: (row: never) => string
        })[]
        readonly empty: string
      }
  readonly exitCode?: (found: never) => ExitCode
}

/** The command of an operation of a role of clients: they have no command line of ours. */
export const FOR_THE_PAGE = { none: "it is for the clients' page" } as const

/** Operations of one subject. The command line has them under one word. */
export interface Chapter<Has extends Ports> {
  /** The first word of its commands, and what they are about. */
  readonly words: string
  readonly about: string
  readonly operations: readonly AnyOperation<Has>[]
}

/** Declares an operation: the types of its fields and its answer meet here. */
export function operation<Needs extends Ports, const Given extends OperationFields, Answer>(
  declared: Operation<Needs, Given, Answer>,
): Operation<Needs, Given, Answer> {
  return declared
}

/** The same of one whose JSON is another thing than what it finds. */
export function renderedOperation<Needs extends Ports, const Given extends OperationFields, Answer, Found>(
  declared: Operation<Needs, Given, Answer, Found> & {
    readonly render: (found: Found, input: InputOf<Given>) => Answer
  },
): Operation<Needs, Given, Answer, Found> & {
  readonly render: (found: Found, input: InputOf<Given>) => Answer
} {
  return declared
}

/** What was found, the cursor of what comes behind it, and its JSON. */
export function unfold<Has extends Ports>(
  { render }: AnyOperation<Has>,
  done: unknown,
  input: Readonly<Record<string, unknown>>,
): Unfolded {
  const { answer: found, next, tag } = done instanceof Part ? done : new Part(done, null)
  const document = render === undefined ? found : render(found as never, input as never)
  return { found, next, tag, document }
}

interface Unfolded {
  readonly found: unknown
  readonly next: string | null
  readonly tag: string | null
  readonly document: unknown
}

/** A part of a list, and the cursor of what comes behind it. */
export class Part<Answer> {
  readonly answer: Answer
  /** `null`: nothing does. */
  readonly next: string | null
  /** Names all that it is made of; `null`: it has no such name. */
  readonly tag: string | null

  constructor(answer: Answer, next: string | null, tag: string | null = null) {
    this.answer = answer
    this.next = next
    this.tag = tag
  }
}

/** The asker holds the answer already. */
export class Unchanged {
  readonly tag: string

  constructor(tag: string) {
    this.tag = tag
  }
}
