import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'

const url = z.string().regex(/^https?:\/\/\S+$/)

const serviceAccount = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().optional(),
  token_uri: url,
})
const authorizedUser = z.object({
  type: z.literal('authorized_user'),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  refresh_token: z.string().min(1),
  token_uri: url.optional(),
})

/** A file of Google's that holds a credential. */
export type GoogleKeyFile = z.output<typeof serviceAccount> | z.output<typeof authorizedUser>

const KINDS = { service_account: serviceAccount, authorized_user: authorizedUser }

/** @returns What is wrong with the text, for behind the name of the file, and nothing of what stands in it. */
export function parseGoogleKeyFile(text: string): GoogleKeyFile | string {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return 'is not JSON'
  }
  const type = z.looseObject({ type: z.string() }).safeParse(document).data?.type
  if (type !== 'service_account' && type !== 'authorized_user') {
    return `is of the type ${JSON.stringify(type?.slice(0, 40) ?? null)}, and service_account and authorized_user are known`
  }
  const parsed = KINDS[type].safeParse(document)
  if (!parsed.success) {
    const names = parsed.error.issues.map(({ path }) => path.join('.'))
    return `lacks ${[...new Set(names)].join(', ')}`
  }
  return parsed.data.type === 'service_account' && !isPrivateKey(parsed.data.private_key)
    ? 'has a private_key that is none'
    : parsed.data
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}
