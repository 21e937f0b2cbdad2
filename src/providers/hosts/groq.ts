import { listedAs } from '../catalog-lists.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Groq. Usage stands in `x_groq` of a stream's last chunk, always (console.groq.com/docs/api-reference). */
export const groq: HostedProvider = {
  hosts: ['api.groq.com'],
  credential: BEARER,
  catalog: listedAs('groq'),
  isBelowV1: true,
  openAi: { takesIncludeUsage: false, isCompound: true },
  endpoints: [],
}
