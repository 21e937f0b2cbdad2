import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const requestInit = { headers: { authorization: `Bearer ${process.env.KEY}` } }
const url = new URL(`${process.env.BASE}/mcp/made/mcp`)
const transport = new StreamableHTTPClientTransport(url, { requestInit })
const client = new Client({ name: 'agent', version: '1.0.0' })
await client.connect(transport)
const { tools } = await client.listTools()
const said = {}
for (const { name } of tools) {
  said[name] = await client.callTool({ name }).then(
    ({ isError = false, content }) => ({ isError, text: content[0].text }),
    ({ message }) => ({ refused: message }),
  )
}
const { sessionId } = transport
await transport.terminateSession()
await client.close()
console.log(JSON.stringify({ said, sessionId }))
