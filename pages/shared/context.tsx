import { signal } from '@preact/signals'
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { type Address, type Choices, linkTo, parseAddress, withChoices } from './address.ts'
import type { Api } from './api.ts'
import type { Asker } from './asker.ts'

/** What the parts of a page ask and change with. */
export interface Tools {
  readonly api: Api
  readonly asker: Asker
}

const Context = createContext<Tools | null>(null)

export function ToolsFor({
  tools,
  children,
}: {
  readonly tools: Tools
  readonly children: ComponentChildren
}) {
  return <Context.Provider value={tools}>{children}</Context.Provider>
}

export function useTools(): Tools {
  const tools = useContext(Context)
  if (tools === null) throw new Error('there is no page around this part')
  return tools
}

/** What the page shows. Whoever reads it in a component is drawn again when it changes. */
export const address = signal<Address>(parseAddress(location.hash))

window.addEventListener('hashchange', () => {
  address.value = parseAddress(location.hash)
})

/** Chooses something in this view. What was chosen before can be had back by the browser's own button. */
export function choose(choices: Choices): void {
  const { view, query } = address.value
  location.hash = linkTo(view, { ...query, cursor: undefined, ...choices })
}

/** What is known of a part. */
export interface Known<Data> {
  /** `null`: nothing was answered yet. */
  readonly data: Data | null
  readonly next: string | null
  /** Why `data` is not of now; `null`: it is. */
  readonly problem: string | null
  /** `data` answers what was asked before. */
  readonly isOld: boolean
}

const NOTHING = { data: null, next: null, problem: null, isOld: false }

/** Asks, and asks again while the page is seen. What was answered stays while the same is asked. */
export function useAnswer<Data>(path: string, choices: Choices, everyMs: number): Known<Data> {
  const { asker } = useTools()
  const url = withChoices(path, choices)
  const [known, setKnown] = useState<Known<Data>>(NOTHING)
  useEffect(() => {
    setKnown((before) => ({ ...before, isOld: true }))
    return asker.open(url, everyMs, {
      take: ({ data, next }) =>
        setKnown((before) =>
          before.data === data && !before.isOld && before.problem === null
            ? before
            : { data: data as Data, next, problem: null, isOld: false },
        ),
      // Of what was asked before nothing stands for what is asked now.
      fail: (problem) => setKnown((before) => ({ ...(before.isOld ? NOTHING : before), problem })),
    })
  }, [asker, url, everyMs])
  return known
}
