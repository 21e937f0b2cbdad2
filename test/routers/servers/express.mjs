// Express 5, as LM Studio and many proxies use a router of that family. Arguments: the folder its packages are installed in, the port.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [folder, port] = process.argv.slice(2)
const require = createRequire(join(folder, 'package.json'))
const express = require('express')
const methodOverride = require('method-override')
const { WebSocketServer } = require('ws')

const texts = Object.fromEntries(
  Object.entries(JSON.parse(readFileSync(join(import.meta.dirname, 'answers.json'), 'utf8'))).map(
    ([name, answer]) => [name, JSON.stringify(answer)],
  ),
)
const seen = []
const served = []

const fill = (name, model, id) =>
  texts[name].replace('"ID"', JSON.stringify(id)).replace('"MODEL"', JSON.stringify(model))

function record(request, endpoint, model) {
  served.push({ probe: request.headers['x-probe'] ?? '', endpoint, model })
}

function answer(request, response, name, model, id = randomUUID()) {
  record(request, name, model)
  response.type('application/json').send(fill(name, model, id))
}

/** Begins what a fetch tells the usage of. */
const queue = (response, name, model) =>
  response.type('application/json').send(fill(name, model, randomUUID()))

const app = express()
app.use((request, _response, next) => {
  if (request.headers['x-probe'] !== undefined) seen.push(request.headers['x-probe'])
  next()
})
app.get('/witness', (_request, response) => response.json({ seen, served }))
app.use(methodOverride('X-HTTP-Method-Override'))
app.use(methodOverride('X-HTTP-Method'))
app.use(methodOverride('X-Method-Override'))
app.use(express.json({ type: () => true }))

const byBody = (name) => (request, response) => {
  const model = request.body?.model
  if (typeof model !== 'string') response.status(400).json({ error: { message: 'no model' } })
  else answer(request, response, name, model)
}
app.post('/v1/chat/completions', byBody('chat'))
app.post('/v1/messages', byBody('messages'))
app.post('/v1/responses', (request, response) => {
  if (request.body?.background === true) queue(response, 'queued', request.body.model)
  else byBody('responses')(request, response)
})
app.post('/v1/batches', (_request, response) => queue(response, 'validating', ''))
app.post('/v1beta/models/:model\\:generateContent', (request, response) =>
  answer(request, response, 'generateContent', request.params.model),
)
const recorded = (endpoint) => (request, response) => {
  record(request, endpoint, '')
  response.json({})
}
app.post('/v1/realtime/client_secrets', recorded('client_secrets'))
app.delete('/v1/models/:id', recorded('delete'))
app.get('/v1/usage', recorded('usage'))
app.get('/v1/batches/:id', (request, response) =>
  answer(request, response, 'batch', 'llama3.1', request.params.id),
)
app.get('/v1/models', (request, response) => {
  record(request, 'models', '')
  response.json({ object: 'list', data: [] })
})
app.get('/v1/responses/:id', (request, response) =>
  answer(request, response, 'responses', 'llama3.1', request.params.id),
)

const sockets = new WebSocketServer({ noServer: true })
app.get('/v1/realtime', (request, _response, next) => {
  if (request.takeSocket === undefined) {
    next()
    return
  }
  const model = `${request.query.model ?? 'llama3.1'}`
  request.takeSocket((socket) => {
    socket.send(fill('session', model, randomUUID()))
    socket.on('message', () => {
      record(request, 'realtime', model)
      socket.send(fill('done', model, randomUUID()))
    })
  })
})

const server = createServer(app)
// Handshakes pass the router as any GET does, and are answered by it where it knows no socket.
server.on('upgrade', (request, socket, head) => {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on('finish', () => socket.end())
  request.takeSocket = (joined) => {
    response.detachSocket(socket)
    sockets.handleUpgrade(request, socket, head, joined)
  }
  app(request, response)
})
server.listen(Number(port), '127.0.0.1')
