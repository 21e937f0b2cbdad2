import { z } from 'zod'
import { CLIENT_LIMIT } from '../../limits/operations/own-limits.ts'
import { shownDocument, shownList, shownText } from '../../operations/answers.ts'
import { SIGNED_RECEIPT } from '../../statements/receipt-document.ts'
import { CLIENT_USAGE } from '../../usage/operations/own-usage.ts'
import { CLIENT_OPERATIONS, OPERATIONS } from '../chapters.ts'
import { CLIENT_PATHS } from './client-paths.ts'
import { describeOperations, schemaOf } from './operation-paths.ts'
import { HEALTH_PATHS, OPERATOR_PATHS, PORTAL_PATHS } from './operator-paths.ts'
import { ERROR_SCHEMAS } from './responses.ts'
import type { OpenApiDocument, PathItem, Schema, Server } from './types.ts'

const USAGE = shownDocument('Usage', {
  ...CLIENT_USAGE,
  limits: shownList(CLIENT_LIMIT, 'Only with include=limits.').optional(),
})

const MODEL_LIST = shownDocument('ModelList', {
  object: z.literal('list'),
  data: shownList(
    shownDocument('Model', {
      id: shownText('What calls name it by.'),
      object: z.literal('model'),
      created: z
        .number()
        .meta({
          type: 'integer',
          description: 'Seconds since 1970; only where the source of the list gave it.',
        })
        .optional(),
      owned_by: shownText("The source's value, else the provider."),
    }),
  ),
})

const ALIVE = shownDocument('Alive', { status: z.literal('ok') })

const READINESS = shownDocument('Readiness', {
  status: z.enum(['ready', 'unavailable']),
  degraded: shownList(z.string(), 'What works less well just now.'),
  advice: shownList(z.string(), 'What to do, where the names do not say it.').optional(),
})

/** Answers of health, and of what clients ask for themselves. */
const OTHER_ANSWERS = z.tuple([USAGE, SIGNED_RECEIPT, MODEL_LIST, ALIVE, READINESS])

export interface OpenApiContext {
  /** Where clients reach the gateway, with its base path. */
  readonly baseUrl: string
  readonly version: string
}

const DESCRIPTION = `A reverse proxy in front of a model backend that meters what passes through, exactly once.

Clients call it as they would call the backend, with a key of the gateway. Operators have a listener of their own.`

/** OpenAPI 3.1 of everything that the gateway itself answers. */
export function buildOpenApi({ baseUrl, version }: OpenApiContext): OpenApiDocument {
  const schemas: Record<string, Schema> = { ...ERROR_SCHEMAS }
  schemaOf(OTHER_ANSWERS, 'output', schemas)
  const paths = describeOperations(OPERATIONS, schemas)
  const own = describeOperations(CLIENT_OPERATIONS, schemas)
  const clients: Server = { url: baseUrl, description: "The clients' listener." }
  const portal: Server = { url: '/', description: "The listener of the clients' page, at PORTAL_PORT." }
  const operators: Server = { url: '/', description: "The operator's listener, which this document is from." }
  return {
    openapi: '3.1.1',
    info: {
      title: 'tallygate',
      version,
      summary: 'Who used what of a model backend, and what did it cost.',
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [clients],
    tags: [
      { name: 'clients', description: 'What clients call, with their keys.' },
      {
        name: 'operators',
        description:
          'What the command line does, with ADMIN_TOKEN or a token that was made with it. Without ADMIN_TOKEN set: 404. The role that a token has to have, or one that includes it, stands in security: admin includes write, and write includes read.',
      },
      { name: 'portal', description: 'What clients see of themselves, on the listener of their page.' },
      { name: 'health', description: 'For balancers, monitors and browsers; no credential.' },
    ],
    paths: {
      ...CLIENT_PATHS,
      ...at([operators, clients], HEALTH_PATHS),
      ...at([operators], OPERATOR_PATHS),
      ...at([operators], paths),
      ...at([portal], { ...PORTAL_PATHS, ...own }),
    },
    components: {
      schemas,
      securitySchemes: {
        bearerKey: { type: 'http', scheme: 'bearer', description: "A client's key: tg_..." },
        xApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: "As Anthropic's clients send it.",
        },
        apiKey: { type: 'apiKey', in: 'header', name: 'api-key', description: "As Azure's clients send it." },
        xGoogApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-goog-api-key',
          description: "As Google's clients send it.",
        },
        queryKey: {
          type: 'apiKey',
          in: 'query',
          name: 'key',
          description: "As Google's older clients send it.",
        },
        operatorToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'ADMIN_TOKEN, which has the role admin, or a token of an operator: tga_...',
        },
        portalToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'What a key was exchanged for, or an operator made, tgp_...: it can read. Or what a sign-in of a member gave, tgm_..., with the role member or owner.',
        },
      },
    },
  }
}

function at(
  servers: readonly Server[],
  paths: Readonly<Record<string, PathItem>>,
): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, { servers, ...item }]))
}
