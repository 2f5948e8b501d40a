-- A real editor talks to `shoal lsp`: what it gets is written to a file, one line a fact, for the test to read.
local facts = {}
local function fact(name, value)
  table.insert(facts, name .. ": " .. tostring(value))
end
local function finish()
  vim.fn.writefile(facts, vim.env.SHOAL_FACTS)
  vim.cmd("qall!")
end
local function wait(name, is)
  if not vim.wait(60000, is, 20) then
    fact("timeout", name)
    finish()
  end
end

vim.cmd("edit " .. vim.env.SHOAL_MODEL)
local client = vim.lsp.start_client({ name = "shoal", cmd = { vim.env.SHOAL, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)

local function first_message()
  local found = vim.diagnostic.get(0)[1]
  return found and found.message or ""
end
local function ask(method, params)
  params = vim.tbl_extend("keep", params or {}, { textDocument = vim.lsp.util.make_text_document_params() })
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 60000) or {}) do
    return answer.result
  end
end
local function at(line, character)
  return { position = { line = line, character = character } }
end

-- A misspelt name is underlined, and the fix is offered.
wait("an error", function() return #vim.diagnostic.get(0) > 0 end)
fact("error", first_message():gsub("\n", " "))
local range = { start = { line = 6, character = 2 }, ["end"] = { line = 6, character = 8 } }
local actions = ask("textDocument/codeAction", { range = range, context = { diagnostics = {} } })
fact("action", actions and actions[1] and actions[1].title)

-- Mended, it is silent; and the text is laid out.
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
wait("no error", function() return #vim.diagnostic.get(0) == 0 end)
vim.lsp.util.apply_text_edits(ask("textDocument/formatting", { options = { tabSize = 2, insertSpaces = true } }), 0, "utf-16")
fact("formatted", vim.api.nvim_buf_get_lines(0, 5, 6, false)[1])

local hover = ask("textDocument/hover", at(1, 5))
fact("hover", hover and hover.contents.value:gsub("\n", " "))
local definition = ask("textDocument/definition", at(5, 20))
fact("definition", definition and definition.range.start.line)
fact("references", #(ask("textDocument/references", vim.tbl_extend("keep", at(2, 5), { context = { includeDeclaration = true } })) or {}))
fact("symbols", #(ask("textDocument/documentSymbol") or {}))
fact("folds", #(ask("textDocument/foldingRange") or {}))
fact("completion", #(ask("textDocument/completion", at(5, 4)) or {}) > 0)
local lenses = ask("textDocument/codeLens")
fact("lens", lenses and lenses[2] and lenses[2].command.title)

-- The check that a lens offers, and its verdict beside the property.
vim.lsp.buf.execute_command(lenses[2].command)
wait("a verdict", function() return first_message():find("violated") ~= nil end)
fact("verdict", first_message())

vim.lsp.stop_client(client)
finish()
