import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

const sessions = new Map()

function buildTools() {
  const tools = new McpServer({ name: 'made', version: '1.0.0' })
  tools.registerTool('greet', { description: 'Greets.' }, async () => ({
    content: [{ type: 'text', text: 'Hello.' }],
  }))
  tools.registerTool('fail', { description: 'Fails.' }, async () => {
    throw new Error('it failed')
  })
  return tools
}

const server = createServer(async (request, response) => {
  let transport = sessions.get(request.headers['mcp-session-id'])
  if (transport === undefined) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    })
    await buildTools().connect(transport)
  }
  await transport.handleRequest(request, response)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
