import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { BASE, BREAK, CLOCK, FAMILY, HI, KEY, refusals, SCHEMA, SPENT, step, TOOL } from './steps.mjs'

const MODEL = 'anthropic.claude-haiku-4-5-20251001-v1:0'
const messages = (text) => [{ role: 'user', content: [{ text }] }]

const client = (accessKeyId = KEY) =>
  new BedrockRuntimeClient({
    endpoint: BASE,
    region: 'us-east-1',
    credentials: {
      accessKeyId,
      secretAccessKey: accessKeyId === SPENT ? process.env.SPENT_SECRET : process.env.SECRET,
    },
    // Its own one speaks HTTP/2, as AWS does, and the stand-in does not.
    ...((FAMILY !== 'HTTP/2' || process.env.LAYOUT === 'direct') && {
      requestHandler: new NodeHttpHandler(),
    }),
  })

async function chat(key = KEY, modelId = MODEL, prompt = HI) {
  const { output, usage } = await client(key).send(
    new ConverseCommand({ modelId, messages: messages(prompt) }),
  )
  return [output.message.content[0].text, usage.inputTokens, usage.outputTokens]
}

async function stream(prompt) {
  const command = new ConverseStreamCommand({ modelId: MODEL, messages: messages(prompt) })
  let text = ''
  for await (const { contentBlockDelta } of (await client().send(command)).stream)
    text += contentBlockDelta?.delta.text ?? ''
  return text
}

async function tools() {
  const toolConfig = { tools: [{ toolSpec: { name: TOOL.name, inputSchema: { json: SCHEMA } } }] }
  const command = new ConverseCommand({ modelId: MODEL, messages: messages(CLOCK), toolConfig })
  const { toolUse } = (await client().send(command)).output.message.content[0]
  return [toolUse.name, toolUse.input]
}

async function invoke() {
  const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 5, messages: [] })
  const command = new InvokeModelCommand({ modelId: MODEL, body, contentType: 'application/json' })
  return JSON.parse(Buffer.from((await client().send(command)).body).toString()).usage.output_tokens
}

await step('chat', () => chat())
await step('stream', () => stream(HI))
await step('tools', tools)
await step('invoke', invoke)
await refusals(chat)
await step('hang_up', () => stream(BREAK))
