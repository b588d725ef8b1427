import { render } from 'preact'
import 'virtual:page-header.css'
import './style.css'
import { App } from './app'

render(<App />, document.getElementById('app')!)
