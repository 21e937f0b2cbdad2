import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'

const { BASE, SIGNING_ID, SIGNING_SECRET, PROTOCOL } = process.env
const modelId = 'anthropic.claude-haiku-4-5-20251001-v1:0'
const arn =
  'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0'
const messages = [{ role: 'user', content: [{ text: 'hi' }] }]

const client = (secretAccessKey = SIGNING_SECRET) =>
  new BedrockRuntimeClient({
    endpoint: BASE,
    region: 'us-east-1',
    credentials: { accessKeyId: SIGNING_ID, secretAccessKey },
    // Its own one speaks HTTP/2.
    ...(PROTOCOL === 'HTTP/1.1' && { requestHandler: new NodeHttpHandler() }),
    maxAttempts: 1,
  })

const found = {}
found.converse = (await client().send(new ConverseCommand({ modelId, messages }))).usage.outputTokens
found.arn = (await client().send(new ConverseCommand({ modelId: arn, messages }))).usage.outputTokens
for await (const event of (await client().send(new ConverseStreamCommand({ modelId, messages }))).stream) {
  if (event.metadata !== undefined) found.stream = event.metadata.usage.outputTokens
}
const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 5, messages: [] })
const invoked = await client().send(
  new InvokeModelCommand({ modelId, body, contentType: 'application/json' }),
)
found.invoke = JSON.parse(Buffer.from(invoked.body).toString()).usage.output_tokens
found.refused = await client('another secret')
  .send(new ConverseCommand({ modelId, messages }))
  .catch((error) => error.name)
console.log(JSON.stringify(found))
