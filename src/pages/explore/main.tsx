// The entry point of the script: reads the address, and draws the page.
import { render } from 'preact'
import { App } from './app.tsx'
import { takeKeyFromAddress } from './key.ts'
import { readView, viewStore } from './view.ts'

const readAddress = () => {
  takeKeyFromAddress()
  viewStore.set(readView(location.hash))
}
readAddress()
addEventListener('popstate', readAddress)
render(<App />, document.querySelector('#explore') as Element)
