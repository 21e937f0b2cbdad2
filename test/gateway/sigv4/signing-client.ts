import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'

/** A request as a library of AWS signs it. */
export interface ToSign {
  readonly method?: string
  /** As it is on the wire. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly keyId?: string
  readonly secret?: string
  readonly sessionToken?: string
  readonly atMs?: number
  /** Botocore sends no hash of the body. */
  readonly sendsHash?: boolean
  readonly region?: string
  readonly service?: string
}

export const SIGNER = { keyId: 'key_AAAAAAAAAAAAAAAAAAAA', secret: 'a-secret-of-the-tests' }
export const HOST = 'gateway.test'

class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }

  update(text: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(text))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {}
}

function bytesOf(value: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof value === 'string') return Buffer.from(value)
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value)
}

/** Its headers as AWS's signer for JavaScript leaves them. */
export async function signedHeaders({
  method = 'POST',
  target,
  headers = {},
  body = '',
  keyId = SIGNER.keyId,
  secret = SIGNER.secret,
  sessionToken,
  atMs = Date.now(),
  sendsHash = true,
  region = 'us-east-1',
  service = 'bedrock',
}: ToSign): Promise<Readonly<Record<string, string>>> {
  const signer = new SignatureV4({
    credentials: {
      accessKeyId: keyId,
      secretAccessKey: secret,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
    region,
    service,
    sha256: Sha256,
    applyChecksum: sendsHash,
  })
  const [path = '', query = ''] = target.split('?')
  const request = {
    method,
    protocol: 'http:',
    hostname: HOST,
    path,
    query: queryOf(query),
    headers: { host: HOST, ...headers },
    body: body === '' ? undefined : body,
  }
  const signed = await signer.sign(request, { signingDate: new Date(atMs) })
  return signed.headers
}

function queryOf(query: string): Record<string, string | string[]> {
  const bag: Record<string, string[]> = {}
  for (const [name, value] of new URLSearchParams(query)) bag[name] = [...(bag[name] ?? []), value]
  return Object.fromEntries(
    Object.entries(bag).map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  )
}

/** The request on the wire, with its connection closed behind it. */
export function wireText(
  { method = 'POST', target, body = '' }: ToSign,
  headers: Readonly<Record<string, string>>,
): string {
  return [
    `${method} ${target} HTTP/1.1`,
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n')
}
