" Vim syntax file: Promela
" Made by `cargo xtask grammars` from the words of the front ends.

if exists("b:current_syntax")
  finish
endif

syntax case match
syntax keyword promelaDeclaration D_proctype active c_code c_decl c_expr c_state c_track function init inline ltl never notrace proctype trace typedef
syntax keyword promelaControl assert atomic break d_step delete do else fi for goto if od printf printm priority provided return run select timeout unless xr xs new
syntax keyword promelaOperator always eventually equivalent implies next release stronguntil until weakuntil U V W X in of
syntax keyword promelaType bit bool byte chan ftype hidden int local mtype pid short show unsigned
syntax keyword promelaConstant _last _nr_pr _pid _priority false np_ null skip true
syntax keyword promelaFunction empty enabled eval full get_priority len nempty nfull pc_value set_priority
syntax match promelaNumber "\<\d\+\>"
syntax region promelaString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match promelaComment "\/\/.*$"
syntax region promelaComment start="/\*" end="\*/"

highlight default link promelaDeclaration Structure
highlight default link promelaControl Statement
highlight default link promelaOperator Operator
highlight default link promelaType Type
highlight default link promelaConstant Constant
highlight default link promelaFunction Function
highlight default link promelaNumber Number
highlight default link promelaString String
highlight default link promelaComment Comment

setlocal commentstring=//\ %s
let b:current_syntax = "promela"
