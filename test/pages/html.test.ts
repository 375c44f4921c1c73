import { expect, test } from 'bun:test'
import { html, Markup } from '../../src/pages/layout.ts'

test('texts are escaped, markup is not, lists are joined', () => {
  const items = ['a', '<b>'].map((item) => html`<li title="${item}">${item}</li>`)
  expect(html`<ul>${items}</ul>${new Markup('<hr>')}${5}${`"'&`}`.text).toBe(
    '<ul><li title="a">a</li><li title="&lt;b&gt;">&lt;b&gt;</li></ul><hr>5&quot;&#x27;&amp;',
  )
})
