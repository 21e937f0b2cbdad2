import { readFileSync } from 'node:fs'
import type { AzureCredentials, AzureSource } from '../../config/yaml/credentials-config.ts'
import type { Fetched } from '../../lib/credential-keeper.ts'
import { askForToken, type TokenRequest } from './token-request.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * An access token of Microsoft Entra. Sources: learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow,
 * and learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token.
 */
export async function fetchAzureToken(
  credentials: AzureCredentials,
  nowMs: number = Date.now(),
): Promise<Fetched<string>> {
  return await askForToken(requestOf(credentials), nowMs)
}

function requestOf({ from, scope }: AzureCredentials): TokenRequest {
  switch (from.kind) {
    case 'secret':
      return ofClient(from, { scope, client_secret: from.clientSecret })
    case 'federated':
      return ofClient(from, {
        scope,
        client_assertion_type: ASSERTION_TYPE,
        // Kubernetes writes a new one every hour.
        client_assertion: readFileSync(from.tokenFile, 'utf8').trim(),
      })
    case 'managed': {
      const url = new URL(from.endpoint)
      url.searchParams.set('api-version', from.apiVersion)
      url.searchParams.set('resource', scope.replace(/\/\.default$/, ''))
      if (from.clientId !== null) url.searchParams.set('client_id', from.clientId)
      return { url: url.href, headers: from.headers }
    }
    default:
      return from satisfies never
  }
}

function ofClient(
  { authority, tenantId, clientId }: Exclude<AzureSource, { readonly kind: 'managed' }>,
  proof: Readonly<Record<string, string>>,
): TokenRequest {
  return {
    url: `${authority}/${tenantId}/oauth2/v2.0/token`,
    form: { grant_type: 'client_credentials', client_id: clientId, ...proof },
  }
}
