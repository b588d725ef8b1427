import { render } from 'preact'
import 'virtual:page-header.css'
import './style.css'
import { App } from './app'
import { keepFocus } from './focus'
import { keepPage } from './panel/handed'

keepPage()
keepFocus()
render(<App />, document.getElementById('app')!)
