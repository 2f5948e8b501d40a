" Vim syntax file: Red
" Made by `cargo xtask grammars` from the words of the front ends.

if exists("b:current_syntax")
  finish
endif

syntax case match
syntax keyword redDeclaration const global initially local mode process connectives safe
syntax keyword redControl goto may when but where free swap zero
syntax keyword redOperator and exists forall implies not or
syntax keyword redType discrete pointer short strict
syntax keyword redConstant FALSE NULL P TRUE false true
syntax match redNumber "\<\d\+\>"
syntax region redString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match redComment "--.*$"
syntax region redComment start="/\*" end="\*/"

highlight default link redDeclaration Structure
highlight default link redControl Statement
highlight default link redOperator Operator
highlight default link redType Type
highlight default link redConstant Constant
highlight default link redNumber Number
highlight default link redString String
highlight default link redComment Comment

setlocal commentstring=--\ %s
let b:current_syntax = "red"
