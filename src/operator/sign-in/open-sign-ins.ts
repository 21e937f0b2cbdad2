import type { SelfServiceConfig } from '../../config/yaml/self-service-config.ts'
import type { SignInConfig } from '../../config/yaml/sign-in-config.ts'
import type { Logger } from '../../lib/logger.ts'
import type { CredentialReport } from '../../store/processes/process-report.ts'
import { MEMBERS, OPERATORS, openSignIn, type SignInProvider } from './provider.ts'

/** The sign-ins of people at one process; `null`: those sign in by tokens and keys alone. */
interface OpenSignIns {
  readonly operators: SignInProvider | null
  readonly members: SignInProvider<SelfServiceConfig> | null
  report(): CredentialReport[]
  stop(): void
}

export function openSignIns(
  {
    signIn,
    selfService,
  }: { readonly signIn?: SignInConfig | undefined; readonly selfService?: SelfServiceConfig | undefined },
  log: Logger,
): OpenSignIns {
  const operators = signIn === undefined ? null : openSignIn(signIn, log, OPERATORS)
  const members = selfService === undefined ? null : openSignIn(selfService, log, MEMBERS)
  const opened = [
    ...(operators === null ? [] : [{ upstream: OPERATORS.whose, of: operators }]),
    ...(members === null ? [] : [{ upstream: MEMBERS.whose, of: members }]),
  ]
  return {
    operators,
    members,
    report: () => opened.map(({ upstream, of }) => ({ upstream, kind: 'sign-in', ...of.state() })),
    stop() {
      for (const { of } of opened) of.stop()
    },
  }
}
