" Vim syntax file: Boolean program
" Made by `cargo xtask grammars` from the words of the front ends.

if exists("b:current_syntax")
  finish
endif

syntax case match
syntax keyword booleanprogramDeclaration decl thread_local void bool
syntax keyword booleanprogramControl abortif assert assume atomic_begin atomic_end begin broadcast constrain dead dfs do else elsif end end_thread enforce fi goto if od return skip start_thread sync then wait while
syntax keyword booleanprogramOperator schoose
syntax keyword booleanprogramConstant F T
syntax match booleanprogramNumber "\<\d\+\>"
syntax region booleanprogramString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match booleanprogramComment "\/\/.*$"
syntax region booleanprogramComment start="/\*" end="\*/"

highlight default link booleanprogramDeclaration Structure
highlight default link booleanprogramControl Statement
highlight default link booleanprogramOperator Operator
highlight default link booleanprogramConstant Constant
highlight default link booleanprogramNumber Number
highlight default link booleanprogramString String
highlight default link booleanprogramComment Comment

setlocal commentstring=//\ %s
let b:current_syntax = "booleanprogram"
