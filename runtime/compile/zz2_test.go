package compile
import ("testing";"context";"fmt";"os";"path/filepath";"strings";lua "github.com/yuin/gopher-lua")
func TestSuites(t *testing.T){
 root:="/root/go/pkg/mod/github.com/yuin/gopher-lua@v1.1.2/"
 for _,pat:=range []string{"_lua5.1-tests/*.lua","_glua-tests/*.lua"} { fs,_:=filepath.Glob(root+pat)
 for _,f:=range fs { b,_:=os.ReadFile(f)
  c:=New(Limits{})
  run:=func(comp func()(*lua.FunctionProto,error)) string { p,err:=comp(); if err!=nil {return "COMPILE "+err.Error()}
   os.Chdir(filepath.Dir(f))
   L:=lua.NewState(lua.Options{RegistrySize:1024*20,CallStackSize:1024}); defer L.Close()
   L.SetContext(newCountdown(20_000_000))
   L.SetGlobal("loadstring", L.NewFunction(func(L *lua.LState) int { p,err:=c.Compile(context.Background(),L.OptString(2,"chunk"),L.CheckString(1)); if err!=nil {L.Push(lua.LNil);L.Push(lua.LString(err.Error()));return 2}; L.Push(L.NewFunctionFromProto(p));return 1}))
   L.Push(L.NewFunctionFromProto(p)); if err:=L.PCall(0,0,nil);err!=nil{ s:=err.Error(); return "RUN "+strings.SplitN(s,"\n",2)[0]}; return "ok"}
  switch filepath.Base(f) {case "main.lua","all.lua","files.lua","verybig.lua","big.lua": continue}
  a:=run(func()(*lua.FunctionProto,error){return plain(string(b))})
  o:=run(func()(*lua.FunctionProto,error){return c.Compile(context.Background(),filepath.Base(f),string(b))})
  if a!="ok"||o!="ok" {fmt.Println("##",filepath.Base(f),"\n  plain:",a,"\n  ours: ",o)}
 }}
}
