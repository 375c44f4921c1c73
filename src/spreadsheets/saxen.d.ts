// Types of saxen, which comes without types: only those that xml.ts uses.
declare module 'saxen' {
  type Attributes = Readonly<Record<string, string>>

  export class Parser {
    on(event: 'openTag', take: (name: string, attributes: () => Attributes, decode: unknown, isEmpty: boolean) => void): this
    on(event: 'closeTag', take: (name: string) => void): this
    on(event: 'text' | 'cdata', take: (text: string) => void): this
    on(event: 'error', take: (error: Error) => void): this
    parse(xml: string): Error | undefined
    stop(): this
  }
}
