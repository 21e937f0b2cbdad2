import { percentDecoded } from '../../domain/canonical-path.ts'
import { bedrockConverse, bedrockGuardrail } from '../bedrock/bedrock-converse.ts'
import { bedrockInvoke } from '../bedrock/bedrock-invoke.ts'
import {
  bedrockAsyncInvoke,
  bedrockImages,
  bedrockPictureEmbeddings,
  bedrockRankInvoke,
  bedrockRerank,
} from '../bedrock/bedrock-media.ts'
import type { CatalogPlace } from '../catalog-lists.ts'
import { type Endpoint, postOn, postTo } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { COUNTS_TOKENS } from '../paths/free-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

const REGION = /^bedrock[a-z-]*\.([a-z]{2}(?:-[a-z]+)+-[0-9]+)\./
/** The model or the inference profile; those of a customer's own (tuned, imported, provisioned) have names only they know. */
const MODEL_IN_ARN = /^arn:[^/]*:(?:foundation-model|inference-profile)\/([^/]+)$/
const REGION_IN_NAME = /^[a-z]{2,6}(?:-gov)?\.[a-z0-9-]+\./

/** Bedrock's runtime, also behind other gateways. */
export const BEDROCK_ENDPOINTS: readonly Endpoint[] = [
  postOn('/model/', ['/converse', '/converse-stream'], bedrockConverse),
  // These draw or rank, and are not billed by tokens.
  postOn('/model/', ['/invoke'], bedrockImages, ['nova-canvas', 'titan-image', 'stability.']),
  postOn('/model/', ['/invoke'], bedrockPictureEmbeddings, ['titan-embed-image']),
  postOn('/model/', ['/invoke'], bedrockRankInvoke, ['.rerank-']),
  postOn('/guardrail/', ['/apply'], bedrockGuardrail),
  postTo('/async-invoke', bedrockAsyncInvoke),
  postOn('/model/', ['/invoke', '/invoke-with-response-stream'], bedrockInvoke),
]

/** Amazon Bedrock. */
export const bedrock: HostedProvider = {
  hosts: [
    'bedrock-runtime.*.amazonaws.com',
    'bedrock-runtime-fips.*.amazonaws.com',
    'bedrock-runtime.*.amazonaws.com.cn',
    'bedrock-mantle.*.api.aws',
  ],
  credential: BEARER,
  catalog: {
    lists: ['aws'],
    places: placesOf,
    // The path has an id of Bedrock's own, the answer at times the maker's word (`claude-3-haiku-48k-20240307`).
    requestNamesModel: true,
    // The price of a bare name is that of the United States: elsewhere only names that say their region have one.
    regional: {
      name: 'bedrock-elsewhere',
      holdsAt: (host) => regionElsewhere(host) !== null,
      places: (model) => placesOf(model).filter(({ name }) => REGION_IN_NAME.test(name)),
    },
  },
  apis: ['bedrock', 'anthropic'],
  ownPaths: ['**/async-invoke/*', '**/guardrail/**'],
  openAi: USAGE_IF_ASKED,
  place: { ofHost: regionElsewhere },
  tierHeaders: ['x-amzn-bedrock-service-tier', 'x-amzn-bedrock-performanceconfig-latency'],
  endpoints: [...BEDROCK_ENDPOINTS, postTo('/rerank', bedrockRerank)],
  freePaths: [{ patterns: ['POST /model/*/count-tokens'], why: COUNTS_TOKENS }],
  // Nothing that is read of these later tells what they used.
  collections: {
    'async-invoke': 'prediction',
    'model-invocation-job': 'prediction',
    'model-invocation-jobs': 'prediction',
  },
}

/** A region whose prices are not those of the list; `null`: one of the United States. */
function regionElsewhere(host: string): string | null {
  const region = REGION.exec(host)?.[1] ?? null
  return region === null || /^us-(?:east|west)-/.test(region) ? null : region
}

/** Model ids and inference profiles, also as ARNs, percent-encoded where they come from a path. */
function placesOf(model: string): readonly CatalogPlace[] {
  const name = percentDecoded(model) ?? model
  const bare = name.startsWith('arn:') ? (MODEL_IN_ARN.exec(name)?.[1] ?? null) : name
  return bare === null ? [] : [{ providerId: 'aws', name: bare }]
}
