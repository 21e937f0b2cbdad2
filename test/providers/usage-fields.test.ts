import { type Dirent, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// The makers' own libraries know new fields of usage before an invoice does. Each is read, or named here with the reason.

const GUARDRAIL_UNITS = [
  ...['automatedReasoningPolicyUnits', 'contentPolicyImageUnits', 'contentPolicyUnits', 'topicPolicyUnits'],
  ...['contextualGroundingPolicyUnits', 'sensitiveInformationPolicyUnits'],
]

/** Fields that no dialect reads, by library. One that a dialect has come to read, or that is gone, has to go. */
const UNREAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: {
    accepted_prediction_tokens: 'part of the completion, billed as that',
    rejected_prediction_tokens: 'part of the completion, billed as that',
    cached_image_tokens: 'of the image tool, whose pictures are priced as if nothing had been cached',
    cached_text_tokens: 'the rest of the cached tokens',
    ttl_30m_tokens: 'the usual lifetime, at the usual price of a write',
    invocation_count: 'requests of an eval, which have no fee',
    context_window:
      'how full a session of /live is; its usage is of another path, which is refused by default',
    event_id: 'a name',
    client_event_id: 'a name',
  },
  anthropic: {
    processed_at: 'a time',
  },
  gemini: {
    audioDurationSeconds: 'of a cache, whose creation is billed by its tokens',
    videoDurationSeconds: 'of a cache, whose creation is billed by its tokens',
    imageCount: 'of a cache, whose creation is billed by its tokens',
    textCount: 'of a cache, whose creation is billed by its tokens',
    initialPromptTokenCount: 'made by the library, of requests that are calls of their own',
    initial_input_tokens: 'of the first turn, which the sum contains',
  },
  mistral: {
    connector_tokens: 'in the total, from which the prompt is taken',
    doc_size_bytes: 'pages are billed',
    request_count: 'the tokens of all of them are in the sum',
  },
  bedrock: {
    ...Object.fromEntries(GUARDRAIL_UNITS.map((name) => [name, 'read as all that ends in Units'])),
    automatedReasoningPolicies: 'a number of policies: their units are read',
    contentFilter: 'of checks on a path that no table has: null, not 0',
    promptAttack: 'of checks on a path that no table has: null, not 0',
    sensitiveInformation: 'of checks on a path that no table has: null, not 0',
    textUnits: 'of checks on a path that no table has: null, not 0',
  },
  openrouter: {
    accepted_prediction_tokens: 'part of the completion, billed as that',
    rejected_prediction_tokens: 'part of the completion, billed as that',
    file_tokens: 'part of the prompt, and of the cost',
    server_tool_cost: 'part of the cost',
    upstream_inference_input_cost: 'part of upstream_inference_cost',
    upstream_inference_output_cost: 'part of upstream_inference_cost',
  },
}

function filesIn(folder: string, end: string): string[] {
  const isWanted = (entry: Dirent) => entry.isFile() && entry.name.endsWith(end)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(isWanted)
    .map((entry) => join(entry.parentPath, entry.name))
}

/** From the list of the library's types: test/api-references/README.md. */
function listedFieldsOf(api: string): Set<string> {
  const [, ...fields] = readFileSync(`test/api-references/${api}-usage.txt`, 'utf8').trim().split('\n')
  return new Set(fields)
}

test.each(
  Object.keys(UNREAD),
)('each field of usage that %s knows is read, or known not to matter', (library) => {
  const dialects = filesIn('src/providers', '.ts').map((file) => readFileSync(file, 'utf8'))
  const words = new Set(dialects.flatMap((text) => text.match(/\b\w+\b/g) ?? []))
  const fields = listedFieldsOf(library)
  expect(fields.size).toBeGreaterThan(15)
  const unread = [...fields].filter((name) => !words.has(name))
  expect(unread.sort()).toEqual(Object.keys(UNREAD[library] ?? {}).sort())
})
