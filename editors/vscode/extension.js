// What VS Code needs to talk to `shoal lsp`, and three commands of its own.
'use strict';

const vscode = require('vscode');
const { execFile, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

const LANGUAGES = ['murphi', 'promela', 'vpl', 'red', 'uppaal', 'boolean-program'];

let client;
let studio;

function settings() {
  return vscode.workspace.getConfiguration('shoal');
}

/** The command, if it can be run; otherwise says how to get it. */
function found() {
  const command = settings().get('path');
  return new Promise((resolve) => {
    execFile(command, ['--version'], (error) => {
      if (!error) return resolve(command);
      const get = 'How to get it';
      vscode.window
        .showErrorMessage(`Shoal: the command "${command}" cannot be run. Set "shoal.path", or install it.`, get)
        .then((choice) => {
          if (choice === get) vscode.env.openExternal(vscode.Uri.parse('https://github.com/shoal-checker/shoal#readme'));
        });
      resolve(undefined);
    });
  });
}

async function start() {
  const command = await found();
  if (!command) return;
  const server = { command, args: ['lsp'], transport: TransportKind.stdio };
  const documentSelector = LANGUAGES.map((language) => ({ language }));
  client = new LanguageClient('shoal', 'Shoal', { run: server, debug: server }, { documentSelector });
  await client.start();
}

async function stop() {
  const old = client;
  client = undefined;
  if (old) await old.stop();
}

/** The model in the editor that is looked at. */
function model() {
  const document = vscode.window.activeTextEditor?.document;
  if (document && LANGUAGES.includes(document.languageId)) return document;
  vscode.window.showInformationMessage('Shoal: open a model first.');
  return undefined;
}

/** All properties, through the language server: verdicts appear beside them. */
async function checkFile() {
  const document = model();
  if (!document || !client) return;
  await client.sendRequest('workspace/executeCommand', {
    command: 'shoal.check',
    arguments: [client.code2ProtocolConverter.asUri(document.uri)],
  });
}

/** `shoal check --html`, and the page it writes beside the text. Links in it lead to the pages of counterexamples. */
async function openCounterexample() {
  const document = model();
  const command = document && (await found());
  if (!command) return;
  await document.save();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'shoal-'));
  const args = ['check', document.fileName, '--html', folder, '--quiet', '--trace', 'none', ...settings().get('checkOptions')];
  const options = { location: vscode.ProgressLocation.Notification, title: 'shoal check', cancellable: true };
  await vscode.window.withProgress(options, (_, token) => new Promise((resolve) => {
    const child = execFile(command, args, { cwd: path.dirname(document.fileName) }, (error, _out, said) => {
      const pages = fs.readdirSync(folder).filter((name) => name.endsWith('.html')).sort();
      const index = pages.find((name) => name === 'index.html') ?? pages[0];
      if (index) show(folder, index);
      else if (!token.isCancellationRequested) vscode.window.showErrorMessage(`Shoal: ${said || error || 'no page was written'}`);
      resolve();
    });
    token.onCancellationRequested(() => child.kill('SIGINT'));
  }));
}

/** Shows a page of a folder; a link to another page of it is followed. */
function show(folder, name) {
  const panel = vscode.window.createWebviewPanel('shoal', 'Shoal', vscode.ViewColumn.Beside, { enableScripts: true });
  const go = (page) => {
    const file = path.join(folder, path.basename(page));
    if (!fs.existsSync(file)) return;
    const follow = `<script>const api = acquireVsCodeApi(); document.addEventListener('click', (event) => {
      const link = event.target.closest('a[href]');
      const to = link && link.getAttribute('href');
      if (to && !to.startsWith('#')) { event.preventDefault(); api.postMessage(to); }
    });</script>`;
    panel.webview.html = fs.readFileSync(file, 'utf8').replace('</body>', `${follow}</body>`);
  };
  panel.webview.onDidReceiveMessage((to) => {
    if (/^[a-z]+:/.test(to)) vscode.env.openExternal(vscode.Uri.parse(to));
    else go(to.split('#')[0]);
  });
  go(name);
}

/** The studio of this model, in a browser; one at a time. */
async function openStudio() {
  const document = model();
  const command = document && (await found());
  if (!command) return;
  studio?.kill();
  studio = spawn(command, ['studio', document.fileName, '--open'], { cwd: path.dirname(document.fileName) });
  let said = '';
  studio.stderr.on('data', (data) => { said += data; });
  studio.on('exit', (code) => {
    if (code) vscode.window.showErrorMessage(`Shoal: the studio ended: ${said.trim() || `exit code ${code}`}`);
  });
}

async function activate(context) {
  const command = (name, work) => context.subscriptions.push(vscode.commands.registerCommand(name, work));
  command('shoal.checkFile', checkFile);
  command('shoal.openCounterexample', openCounterexample);
  command('shoal.openStudio', openStudio);
  command('shoal.restart', async () => { await stop(); await start(); });
  await start();
}

async function deactivate() {
  studio?.kill();
  await stop();
}

module.exports = { activate, deactivate };
