// Types of saxen, which comes without types: only those that xml.ts uses.
declare module 'saxen' {
  type Attributes = Readonly<Record<string, string>>

  export class Parser {
    on(event: 'openTag', handler: (name: string, attributes: () => Attributes, decode: unknown, isEmpty: boolean) => void): this
    on(event: 'closeTag', handler: (name: string) => void): this
    on(event: 'text' | 'cdata', handler: (text: string) => void): this
    on(event: 'error', handler: (error: Error) => void): this
    parse(xml: string): Error | undefined
    stop(): this
  }
}
