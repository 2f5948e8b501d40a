" Vim syntax file: VPL
" Made by `cargo xtask grammars` from the words of the front ends.

if exists("b:current_syntax")
  finish
endif

syntax case match
syntax keyword vplDeclaration automata automaton clock invariant initially manipulation mode register verify
syntax keyword vplControl do else for goto graph if may then to when
syntax keyword vplOperator all_paths and eventually exists exists_path forall henceforth implies not or until
syntax keyword vplConstant False True false true
syntax match vplNumber "\<\d\+\>"
syntax region vplString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match vplComment "--.*$"
syntax region vplComment start="/\*" end="\*/"

highlight default link vplDeclaration Structure
highlight default link vplControl Statement
highlight default link vplOperator Operator
highlight default link vplConstant Constant
highlight default link vplNumber Number
highlight default link vplString String
highlight default link vplComment Comment

setlocal commentstring=--\ %s
let b:current_syntax = "vpl"
