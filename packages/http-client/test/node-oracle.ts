import { request } from 'node:http'
import { Duplex } from 'node:stream'

export interface OracleAnswer {
  readonly status: number
  readonly reason: string
  readonly rawHeaders: readonly string[]
  /** Latin1 characters. */
  readonly body: string
  readonly rawTrailers: readonly string[]
}

/** What Node's own client reads in an answer behind which the server closes; `null`: it refuses it. */
export function askNode(text: string, isHead: boolean): Promise<OracleAnswer | null> {
  return new Promise((resolve) => {
    const bytes = Buffer.from(text, 'latin1')
    const connection = new Duplex({
      read() {},
      write(_chunk, _encoding, done) {
        done()
      },
    })
    const asked = request(
      {
        method: isHead ? 'HEAD' : 'GET',
        maxHeaderSize: 1024 * 1024,
        createConnection: () => connection,
      },
      (answer) => {
        let body = ''
        answer.on('data', (chunk: Buffer) => {
          body += chunk.toString('latin1')
        })
        answer.on('error', () => resolve(null))
        answer.on('close', () => {
          if (!answer.complete) {
            resolve(null)
            return
          }
          const { statusCode = 0, statusMessage = '', rawHeaders, rawTrailers } = answer
          resolve({ status: statusCode, reason: statusMessage, rawHeaders, body, rawTrailers })
        })
      },
    )
    asked.on('error', () => resolve(null))
    asked.on('upgrade', () => resolve(null))
    asked.on('close', () => setImmediate(() => resolve(null)))
    asked.end()
    setImmediate(() => {
      connection.push(bytes)
      connection.push(null)
    })
  })
}
