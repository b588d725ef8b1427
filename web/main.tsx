import { render } from 'preact'
import 'virtual:page-header.css'
import './style.css'
import { App } from './app'
import { keepPage } from './panel/handed'

keepPage()
render(<App />, document.getElementById('app')!)
