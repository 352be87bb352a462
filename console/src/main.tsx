import { render } from 'preact';
import { App } from './app.js';
import './style/frame.css';
import './style/content.css';
import './style/paymaster.css';
import './style/form.css';
import './style/activity.css';
import './style/money.css';
import './style/search.css';
import './style/phone.css';
import './style/print.css';

render(<App />, document.getElementById('app')!);
