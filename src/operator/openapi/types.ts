/** The parts of OpenAPI 3.1 that our document uses. See https://spec.openapis.org/oas/v3.1.1.html */
export interface OpenApiDocument {
  readonly openapi: '3.1.1'
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
    readonly license: { readonly name: string; readonly identifier: string }
  }
  readonly servers: readonly Server[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}

export interface Server {
  readonly url: string
  readonly description: string
}

export type Method = 'get' | 'post' | 'put' | 'delete'

export interface PathItem extends Partial<Readonly<Record<Method, ApiOperation>>> {
  /** Where it is not the document's own. */
  readonly servers?: readonly Server[]
  readonly parameters?: readonly Parameter[]
}

export interface ApiOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  /** Empty: it needs no credential. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  /** By status. */
  readonly responses: Readonly<Record<string, Response>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly required: boolean
  readonly description: string
  readonly schema: Schema
  readonly style?: 'form'
  readonly explode?: boolean
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: Schema }>>
  readonly content?: Content
}

export type Content = Readonly<
  Record<
    string,
    {
      readonly schema: Schema
      readonly examples?: Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>
    }
  >
>

export type SecurityScheme =
  | { readonly type: 'http'; readonly scheme: 'bearer'; readonly description: string }
  | {
      readonly type: 'apiKey'
      readonly in: 'header' | 'query'
      readonly name: string
      readonly description: string
    }

/** JSON Schema 2020-12. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly uniqueItems?: boolean
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
}
